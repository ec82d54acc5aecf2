"""Records random draws for the rows of random tables, and permutations and samples that continue a generator: `python
record_draws.py`, with NumPy 1.26.4 and CPython 3.11.

draws.jsonl has a line per table, with the tables drawn from this table, in order. A drawn table has the declaration in the
pipeline's syntax, and the CRC-32 of the resulting text.
"""
import copy
import json
import random
import warnings
import zlib

import numpy as np

warnings.simplefilter("ignore")
rng = random.Random(4)
START = {"numpy": np.random.RandomState, "numpy_generator": np.random.default_rng, "python": random.Random}


def table():
    rows = rng.choice([0, 1, 3, 10, 50, 200])
    return [{"id": row, "words": rng.randrange(0, 12), "share": rng.choice([0.25, 0.5, 0.01, None])} for row in range(rows)]


def cell(value):
    return value or "" if isinstance(value, (str, type(None))) else repr(float(value)) if isinstance(value, float) else str(int(value))


def text(rows, names):
    lines = [",".join(names)] + [",".join(cell(row[name]) for name in names) for row in rows]
    if len(names) == 1:
        lines = [line or '""' for line in lines]
    return "\n".join(lines) + "\n"


def uniform(kind, generator):
    return float(generator.random_sample() if kind == "numpy" else generator.random())


def integers(kind, generator, low, high):
    name = {"numpy": "randint", "numpy_generator": "integers", "python": "randrange"}[kind]
    return int(getattr(generator, name)(low, high))


def values(kind):
    """Returns the random values of a row. Each has a name, a kind of draw, the kind's keys, and the conditions for its draw."""
    drawn, known = [], ["words", "share"]
    for number in range(rng.randrange(1, 5)):
        name = f"v{number}"
        draw = rng.choice(["uniform", "random", "integers", "integers", "choice", "sample"])
        draw = "choice" if draw == "sample" and kind == "numpy_generator" else draw
        keys, when = {}, []
        if draw == "uniform" and rng.random() < 0.5:
            keys = {"low": rng.choice([-1, 0.5, 1]), "high": rng.choice([2, 99.5, 100])}
        elif draw == "integers":
            keys = {"low": rng.choice([0, 1, -5]), "high": rng.choice([2, 7, 676, 2**33, "words"])}
            if keys["high"] == "words":
                when.append(("words", ">", max(keys["low"], 0) + rng.randrange(0, 3)))
        elif draw == "choice":
            keys = {"of": rng.choice([1, 2, 3, 1000])}
        elif draw == "sample":
            keys = {"low": rng.choice([0, 1, -3]), "count": rng.choice([0, 1, 5, 7])}
            keys["high"] = keys["low"] + rng.choice([7, 22, 1000])
        while rng.random() < 0.35:
            when.append((rng.choice(known), rng.choice(["<", "<=", ">", ">="]), rng.choice([0.01, 0.5, 2, 5])))
        drawn.append((name, "uniform" if draw == "random" else draw, keys, when))
        if draw != "sample":
            known.append(name)
    return drawn


def holds(row, comparison):
    left, operator, right = comparison
    left = row[left]
    return left is not None and {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def draw_rows(kind, generator, rows, plan):
    out = []
    for row in rows:
        row = dict(row)
        for name, draw, keys, when in plan:
            operand = lambda key: row[keys[key]] if isinstance(keys[key], str) else keys[key]
            if not all(holds(row, one) for one in when):
                row[name] = None
            elif draw == "uniform":
                low, high = (operand("low"), operand("high")) if keys else (0, 1)
                u = uniform(kind, generator)
                row[name] = low + (high - low) * u if keys else u
            elif draw == "integers":
                row[name] = integers(kind, generator, operand("low"), operand("high"))
            elif draw == "sample":
                low, high, count = keys["low"], keys["high"], keys["count"]
                places = generator.sample(range(high - low), count) if kind == "python" else generator.choice(high - low, count, replace=False)
                row[name] = " ".join(str(low + place) for place in places)
            else:
                row[name] = integers(kind, generator, 0, keys["of"])
        out.append(row)
    return out, generator


def spelled(plan):
    items = []
    for name, draw, keys, when in plan:
        parts = [f"{name}: {draw}"] + [f"{key}: {value}" for key, value in keys.items()]
        if when:
            parts.append("when: " + " AND ".join(f"{left} {operator} {right}" for left, operator, right in when))
        items.append("{ " + ", ".join(parts) + " }")
    return "[" + ", ".join(items) + "]"


def case():
    rows = table()
    left = {}  # The state of the generator after each drawn table.
    made = []
    for number in range(12):
        name, kind = f"d{number}", rng.choice(list(START))
        before = [table for table, (other, _) in left.items() if other == kind]
        after = rng.choice(before) if before and rng.random() < 0.4 else None
        seed = rng.choice([0, 1, 42, rng.randrange(2**32)])
        generator = copy.deepcopy(left[after][1]) if after else START[kind](seed)
        start = f"after: {after}" if after else f"seed: {seed}"
        form = rng.choice(["draws", "draws", "permute", "sample" if kind == "python" else "draws"])
        if form == "draws":
            plan = values(kind)
            drawn, generator = draw_rows(kind, generator, rows, plan)
            spelling = f"{{ draws: t, generator: {kind}, {start}, values: {spelled(plan)} }}"
            found = text(drawn, [one[0] for one in plan])
            left[name] = (kind, generator)
        elif form == "permute":
            order = list(range(len(rows)))
            if kind == "python":
                generator.shuffle(order)
            else:
                order = [int(n) for n in generator.permutation(len(rows))]
            spelling = f"{{ permute: t, generator: {kind}, {start} }}"
            found = text([rows[place] for place in order], ["id", "words", "share"])
            left[name] = (kind, generator)
        else:
            size = rng.choice([0, 1, 0.1, 0.5]) if rows else 0
            drawn = generator.sample(range(len(rows)), round(size * len(rows)) if isinstance(size, float) else size)
            spelling = f"{{ split: t, method: python_sample, test_size: {size}, {start} }}"
            found = text([rows[place] for place in drawn], ["id", "words", "share"])
            left[name] = (kind, generator)
        made.append([name, form, spelling, zlib.crc32(found.encode())])
    return {"csv": text(rows, ["id", "words", "share"]), "made": made}


if __name__ == "__main__":
    with open("draws.jsonl", "w") as out:
        for _ in range(40):
            out.write(json.dumps(case(), separators=(",", ":")) + "\n")
