#!/usr/bin/env python3
"""Record the results of other database engines for the cases of cases.txt, in expected.jsonl.

    python3 -m venv /tmp/engines && /tmp/engines/bin/pip install duckdb==2.0.1 'psycopg[binary]'
    /tmp/engines/bin/python record.py [CONNECTION]

CONNECTION is the connection string of an empty PostgreSQL database (15 or later), for example "host=/tmp user=postgres".
Without it, the cases of PostgreSQL keep their results. The header of cases.txt describes the format of the cases. This
script does not write the results of `prep` itself (`ours`). The test writes them:

    UPDATE=1 cargo test -p prep-sql recorded
"""

import datetime
import decimal
import json
import math
import sys
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
TYPES = {"integer": "BIGINT", "double": "DOUBLE PRECISION", "text": "VARCHAR", "boolean": "BOOLEAN"}
# PostgreSQL has no character U+0000, so the table `nul` is missing there.
TABLES = json.loads((HERE / "tables.json").read_text())


def value(cell):
    """Returns a cell in the form in which tables.json and expected.jsonl store it."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return "nan" if math.isnan(cell) else "inf" if cell > 0 else "-inf"
    if isinstance(cell, (list, tuple)):
        return [value(item) for item in cell]
    if isinstance(cell, decimal.Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat()
    return cell


def cases():
    """Returns the cases: dictionaries of the query and its options."""
    found = []
    for line in (HERE / "cases.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("  "):
            key, _, text = line.strip().partition(": ")
            found[-1][key] = text
        else:
            found.append({"query": line})
    return found


def expanded(query):
    """Returns a query. `table: expression` selects the expression for all rows of the table."""
    head, _, expression = query.partition(": ")
    if head in TABLES and expression:
        return f"SELECT {expression} AS v FROM {head} ORDER BY id"
    return query if query.split(" ")[0] in ("SELECT", "WITH") else f"SELECT {query} AS v"


def theirs(case, engine):
    """Returns the query that the engine runs: the query of the case, unless the case has another expression for this engine."""
    other = case.get(engine)
    if not other:
        return expanded(case["query"])
    head = case["query"].partition(": ")[0]
    return expanded(f"{head}: {other}" if head in TABLES and not other.startswith(("SELECT", "WITH")) else other)


def tables(execute, many, skipped=()):
    """Creates the tables of tables.json. `execute(statement)` runs a statement, and `many(name, rows)` inserts rows."""
    for name, columns in TABLES.items():
        if name in skipped:
            continue
        kinds = ", ".join(f"{column} {TYPES[kind]}" for column, (kind, _) in columns.items())
        execute(f"CREATE TEMPORARY TABLE {name} ({kinds})")
        floats = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
        cells = [[floats.get(cell, cell) if kind == "double" else cell for cell in cells] for kind, cells in columns.values()]
        many(name, list(zip(*cells)))


def duck():
    """Returns a function that runs a query in DuckDB."""
    connection = duckdb.connect()
    fill = lambda name, rows: connection.executemany(
        f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    tables(connection.execute, fill)
    return lambda query: connection.execute(query).fetchall()


def postgres(address):
    """Returns a function that runs a query in PostgreSQL."""
    import psycopg

    connection = psycopg.connect(address, autocommit=True)
    def fill(name, rows):
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)
    tables(connection.execute, fill, skipped=("nul",))
    return lambda query: connection.execute(query).fetchall()


def main():
    path = HERE / "expected.jsonl"
    before = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    before = {case["query"]: case for case in before}
    engines = {"duckdb": duck()}
    if len(sys.argv) > 1:
        engines["postgres"] = postgres(sys.argv[1])
    lines = []
    for case in cases():
        engine = "postgres" if "postgres" in case else "duckdb"
        record = {"query": case["query"], "by": engine}
        old = before.get(case["query"], {})
        try:
            if engine in engines:
                record["rows"] = [value(row) for row in engines[engine](theirs(case, engine))]
            else:
                record["rows"] = old["rows"]
        except Exception as error:  # noqa: BLE001, the message is part of the record
            record["error"] = str(error).splitlines()[0]
            if "differs" not in case:
                print(f"{engine}: {case['query']}\n  {record['error']}")
        if "ours" in old:
            record["ours"] = old["ours"]
        lines.append(json.dumps(record, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} cases, {path.stat().st_size} bytes")


main()
