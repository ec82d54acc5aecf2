"""Compares the engine's results of random queries with DuckDB's.

    pip install duckdb
    QUERIES_JSON=/tmp/queries.json cargo test --release -p prep-sql --test all queries_for_duckdb -- --ignored
    python engine/sql/tests/oracle/compare_duckdb.py /tmp/queries.json

Rows are compared as multisets. If both engines define an order of the rows, the order is compared, too. Documented
differences are translated (integer division, the position of NULL in an order) or skipped and counted:

- `order`: the query takes the first of tied rows or numbers them. DuckDB's sort does not keep the order of ties.
- `rejected`: the engine rejects the query.
- `duckdb`: DuckDB rejects the query, for example a correlated subquery in a form that it does not support.
"""

import collections
import json
import math
import sys

import duckdb

TYPES = {"integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def parsed(cell, kind):
    """Returns the value of a literal that the engine printed."""
    if cell == "NULL":
        return None
    if kind == "text":
        return cell[1:-1].replace("''", "'")
    if kind == "boolean":
        return cell == "true"
    return int(cell) if kind == "integer" else float(cell)


def canonical(value):
    """Returns a value in a form that both engines share. Rounds doubles, because DuckDB adds them in another order."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return float(f"{value:.9g}") + 0.0
    return value


def run(connection, case):
    for table in case["tables"]:
        columns = ", ".join(f"{quoted(name)} {TYPES[kind]}" for name, kind in table["columns"])
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {quoted(table['name'])} ({columns})")
        if table["rows"]:
            marks = ", ".join("?" for _ in table["columns"])
            connection.executemany(f"INSERT INTO {quoted(table['name'])} VALUES ({marks})", table["rows"])
    rows = connection.execute(case["duckdb"]).fetchall()
    return [tuple(canonical(cell) for cell in row) for row in rows]


def main():
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET preserve_insertion_order = true")
    counts = collections.Counter()
    reasons = collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8"):
        case = json.loads(line)
        if case["rows"] is None:
            counts["rejected"] += 1
            continue
        if case["depends_on_order"]:
            counts["skipped: order"] += 1
            continue
        try:
            theirs = run(connection, case)
        except duckdb.Error as error:
            counts["skipped: duckdb"] += 1
            reasons[str(error).splitlines()[0][:90]] += 1
            continue
        ours = [tuple(canonical(parsed(*pair)) for pair in zip(row, case["kinds"])) for row in case["rows"]]
        if collections.Counter(ours) != collections.Counter(theirs):
            found = "other rows"
        elif case["is_exact"] and ours != theirs:
            found = "other order"
        else:
            counts["equal in order" if case["is_exact"] else "equal"] += 1
            continue
        counts[found] += 1
        print(f"# seed {case['seed']}: {found}\n{case['query']}\n{case['duckdb']}")
        for table in case["tables"]:
            if table["name"] + " AS" in case["query"]:
                print(f"  {table['name']} {[name for name, _ in table['columns']]} {table['rows']}")
        print(f"  ours   {ours}\n  theirs {theirs}\n")
    for reason, count in reasons.most_common(12):
        print(f"{count:6} {reason}")
    print(dict(counts))
    sys.exit(counts["other rows"] + counts["other order"] > 0)


if __name__ == "__main__":
    main()
