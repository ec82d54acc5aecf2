"""Records random splits of random tables: `python record_splits.py`, with pandas 2.2.3, scikit-learn 1.5.2 and CPython 3.11.

splits.jsonl has a line per table, with the declared types of columns and the splits of the table. A split has its keys in
the pipeline's syntax, and the CRC-32 of the ids of each part, or nothing if the original library raises an error.
"""
import io
import json
import math
import random
import warnings
import zlib

import pandas as pd
from sklearn.model_selection import train_test_split

warnings.simplefilter("ignore")
rng = random.Random(2024)
WORDS = ["a", "b", "B", "Z", "z", "é", "e", "ß", "Ünï", "日本", "\U0001f600", "\uffff", "a b", "a,b", "10", "9", "007", "-1", "A", "", "NA", "x.y", "%", "{"]
POOLS = {
    "text": lambda: rng.sample(WORDS, rng.randrange(2, 7)),
    "digits": lambda: rng.sample(["007", "7", "10", "9", "100", "0", "00", "-5", "5"], rng.randrange(2, 5)),
    "integer": lambda: [str(n) for n in rng.sample([0, 1, 2, 9, 10, 11, 100, -1, -9, -10, 2**40, -2**63, 2**63 - 1], rng.randrange(2, 6))],
    "large": lambda: rng.sample(["18446744073709551615", "1", "9223372036854775808", "20", "3"], rng.randrange(2, 4)),
    "number": lambda: rng.sample(["0.5", "-1.5", "10.0", "9.25", "-0.0", "0.0", "1e20", "1e-7", "100", "0.1"], rng.randrange(2, 6)),
    "boolean": lambda: ["True", "False"],
    "gaps": lambda: rng.choice([["1", "2", ""], ["a", "b", "NA"], ["True", "False", ""], ["0.5", "2", ""]]),
    "infinite": lambda: ["1.5", "inf", "-inf"],
}
DECLARED = {"integer": "integer", "number": "number", "boolean": "boolean", "infinite": "number"}


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n') else cell


def table():
    rows = rng.choice([rng.randrange(2, 13), rng.randrange(4, 60), rng.randrange(4, 60), rng.randrange(60, 700)])
    kinds = rng.sample(list(POOLS), 4)
    columns, types = {}, {"id": "integer"}
    for kind in kinds:
        pool = POOLS[kind]()
        if kind in ("text", "integer", "digits") and rng.random() < 0.25:
            # Many different values, so a split by groups has many groups.
            pool = [f"{n}" if kind != "text" else f"g{n}" for n in range(max(2, rows // 3))]
            rng.shuffle(pool)
        weights = [rng.random() ** 2 + 0.05 for _ in pool]
        columns[kind] = rng.choices(pool, weights, k=rows)
        types[kind] = rng.choice(["inferred", "text", DECLARED.get(kind, "inferred")])
    lines = [",".join(["id", *kinds])]
    for row in range(rows):
        lines.append(",".join([str(row), *(quoted(columns[kind][row]) for kind in kinds)]))
    return "\n".join(lines) + "\n", types


def read(csv, types):
    frame = pd.read_csv(io.StringIO(csv), dtype={name: str for name, kind in types.items() if kind == "text"}, float_precision="round_trip")
    # Declares only types that the columns of the file really have.
    for name, kind in list(types.items()):
        dtype = frame[name].dtype
        fits = {"integer": dtype == "int64", "number": dtype in ("int64", "float64", "uint64"), "boolean": dtype == "bool"}.get(kind, True)
        if not fits:
            types[name] = "inferred"
        elif kind == "number":
            frame[name] = frame[name].astype(float)
    return frame


def sizes(rows, allow_train):
    def size():
        return rng.choice([0.1, 0.2, 0.25, 0.3, 0.5, 0.14, 0.9, round(rng.random(), 3), rng.randrange(1, rows + 1), rng.randrange(1, max(2, rows // 2))])
    keys = {}
    if rng.random() < 0.9:
        keys["test_size"] = size()
    if allow_train and rng.random() < 0.2:
        keys["train_size"] = size()
    if not keys:
        keys["test_size"] = size()
    return keys


def ordered(parts, order, frame):
    return [sorted(part) if order == "file" else list(part) for part in parts]


def by_appearance(frame, column):
    return [list(members.index) for _, members in frame.groupby(column, sort=False, dropna=False)]


def make(frame, keys):
    """Returns the two parts as lists of row numbers. Raises the exceptions of the original library."""
    rows, method, seed = len(frame), keys["method"], keys.get("seed")
    sizes = {name: keys.get(name) for name in ("test_size", "train_size")}
    test = keys.get("test_size")

    def shuffle(items, **more):
        return train_test_split(items, random_state=seed, **sizes, **more)

    def sample(items):
        series = pd.Series(items)
        drawn = series.sample(**({"frac": test} if isinstance(test, float) else {"n": test}), random_state=seed)
        return list(series.drop(drawn.index)), list(drawn)

    def python_sample(items):
        drawn = random.Random(seed).sample(items, round(test * len(items)) if isinstance(test, float) else test)
        chosen = set(drawn)
        return [item for item in items if item not in chosen], drawn

    def within(split):
        parts = [[], []]
        for members in by_appearance(frame, keys["within"]):
            for part, drawn in zip(parts, split(members)):
                part += drawn
        return parts

    order = keys.get("order", "split")
    items = list(range(rows))
    if method == "shuffle" and "groups" in keys:
        order = keys.get("order", "file")
        groups = by_appearance(frame, keys["groups"])
        # scikit-learn splits the distinct values, and the rows are assigned by their value.
        parts = [[row for group in part for row in group] for part in shuffle(groups)]
    elif method == "shuffle" and "stratify" in keys:
        parts = shuffle(items, stratify=frame[keys["stratify"]])
    elif method == "shuffle":
        parts = within(shuffle) if "within" in keys else shuffle(items)
    elif method == "sample":
        parts = within(sample) if "within" in keys else sample(items)
    elif method == "python_sample":
        parts = python_sample(items)
    else:
        order = keys.get("order", "file")
        wanted = math.ceil(test * rows) if isinstance(test, float) else test
        if not 0 < wanted < rows:
            raise ValueError
        parts, room = [[], []], wanted
        for group in by_appearance(frame, keys["groups"]):
            fits = len(group) <= room
            room -= len(group) if fits else 0
            parts[fits] += group
        if not parts[1]:
            raise ValueError
    return ordered(parts, order, frame)


def split(frame, types):
    rows = len(frame)
    method = rng.choice(["shuffle"] * 6 + ["sample", "python_sample", "first_fit"])
    keys = {"method": method, **sizes(rows, method == "shuffle")}
    if method != "first_fit":
        keys["seed"] = rng.choice([0, 0, 1, 42, rng.randrange(2**32)])
        keys.setdefault("test_size", 0.25) if method != "shuffle" else None
    else:
        keys.setdefault("test_size", 0.25)
    column = rng.choice([name for name in types if name != "id"])
    roles = {"shuffle": [None, "groups", "stratify", "stratify", "stratify", "within"], "first_fit": ["groups"]}.get(method, [None, "within"] if method == "sample" else [None])
    role = rng.choice(roles)
    if role:
        keys[role] = column
    if rng.random() < 0.25:
        keys["order"] = rng.choice(["file", "split"])
    return keys


def digest(part):
    return zlib.crc32(",".join(map(str, part)).encode())


if __name__ == "__main__":
    made = refused = 0
    with open("splits.jsonl", "w") as out:
        for _ in range(45):
            csv, types = table()
            frame = read(csv, types)
            splits = []
            while len(splits) < 30:
                keys = split(frame, types)
                try:
                    first, second = make(frame, keys)
                except (ValueError, TypeError):
                    if rng.random() > 0.05:
                        continue
                    splits.append([keys])
                    refused += 1
                    continue
                splits.append([keys, digest(first), digest(second)])
                made += 1
            out.write(json.dumps({"csv": csv, "types": types, "splits": splits}, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(made, "splits,", refused, "refused")
