"""Records splits made by scikit-learn, pandas and Python. Writes splits.json next to this file.

`keys(rows, distinct)` computes the keys of a table. The Rust tests compute the same keys. The file contains the number of
rows of each part, the CRC-32 of the row positions, and the first ten positions. `refused` means that the original library raised an error.
"""
import pathlib
import random

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from record_generators import SEEDS, digest, write


def keys(rows, distinct):
    """Text keys whose sorted order differs from the order in which they first appear."""
    return [f"k{(i * 2654435761 % 2**32 >> 16) % distinct}" for i in range(rows)]


def parts(train, test):
    return {"train": digest(train), "test": digest(test)}


def attempt(call):
    """Returns the parts that `call` returns, or `refused` if the library raises an error."""
    try:
        return parts(*call())
    except ValueError:
        return {"refused": True}


def shuffle():
    sizes = [(0.1, None), (0.14, None), (0.19, None), (0.25, None), (1 / 3, None), (None, 0.75), (None, 0.9), (None, None), (0.3, 0.2), (0.5, 0.5),
             (0.6, 0.5), (1, None), (None, 1), (2, 3), (7, 0.5), (0.5, 99), (0, None), (1.0, None), (0.0, None), (-0.1, None), (None, 1.5),
             (0.999999, None), (None, 0.999999), (None, 0.000001), (9914, None)]
    for rows in [0, 1, 2, 3, 5, 10, 50, 85, 100, 150, 1000, 9914, 9915, 100003]:
        for test, train in sizes:
            # Sizes do not depend on the seed, so all seeds are recorded for one size only.
            for seed in SEEDS if (test, train) == (0.1, None) else SEEDS[:1]:
                def call():
                    return train_test_split(range(rows), test_size=test, train_size=train, random_state=seed)
                yield {"rows": rows, "test_size": test, "train_size": train, "seed": seed, **attempt(call)}
    # Another split has n train rows and m test rows. Its test fraction is used to split n rows.
    for n, m in [(85, 204), (180, 220), (286, 198), (322, 17)]:
        share = m / (n + m)
        yield {"rows": n, "share": [m, n], "seed": 0, **attempt(lambda: train_test_split(range(n), test_size=share, random_state=0))}


def stratified():
    for rows, distinct in [(4, 2), (10, 2), (10, 5), (10, 9), (100, 3), (100, 10), (1000, 7), (1000, 100), (20011, 900)]:
        for test, train in [(0.1, None), (0.25, None), (0.5, None), (None, 0.75), (0.3, 0.2), (10, None), (None, None)]:
            for seed in SEEDS:
                def call():
                    return train_test_split(range(rows), test_size=test, train_size=train, random_state=seed, stratify=keys(rows, distinct))
                yield {"rows": rows, "distinct": distinct, "test_size": test, "train_size": train, "seed": seed, **attempt(call)}


def sample():
    for rows in [0, 1, 2, 5, 15, 25, 100, 318, 322, 100003]:
        for size in [0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 0, 1, 3, 64]:
            for seed in SEEDS[:2]:
                frame = pd.DataFrame({"row": range(rows)})
                def call():
                    drawn = frame.sample(**({"frac": size} if isinstance(size, float) else {"n": size}), random_state=seed)
                    return frame.drop(drawn.index)["row"], drawn["row"]
                yield {"rows": rows, "test_size": size, "seed": seed, **attempt(call)}


TABLES = [(1, 1), (2, 1), (2, 2), (10, 3), (100, 10), (100, 99), (1000, 37), (5000, 4000), (100003, 900)]


def groups():
    """Splits the unique keys and selects their rows, or splits a list of frames and concatenates them."""
    for rows, distinct in TABLES:
        for seed in [0, 8, 42]:
            for size in [0.1, 0.22, 3]:
                frame = pd.DataFrame({"key": keys(rows, distinct)})
                def by_membership():
                    train, test = train_test_split(frame["key"].unique(), test_size=size, random_state=seed)
                    return frame.index[frame["key"].isin(train)], frame.index[frame["key"].isin(test)]
                def end_to_end():
                    train, test = train_test_split([g for _, g in frame.groupby("key")], test_size=size, random_state=seed)
                    return pd.concat(train).index, pd.concat(test).index
                where = {"rows": rows, "distinct": distinct, "test_size": size, "seed": seed}
                yield {**where, "order": "file", **attempt(by_membership)}
                yield {**where, "order": "split", **attempt(end_to_end)}


def by_appearance(names):
    """Maps each key to its rows. The keys are in the order of their first appearance."""
    groups = {}
    for row, name in enumerate(names):
        groups.setdefault(name, []).append(row)
    return groups


def within():
    for rows, distinct in TABLES:
        for method in [{"method": "shuffle", "test_size": 0.2, "seed": 0}, {"method": "shuffle", "train_size": 0.5, "seed": 3},
                       {"method": "sample", "test_size": 0.3, "seed": 0}, {"method": "sample", "test_size": 1, "seed": 7}]:
            def call():
                train, test = [], []
                for members in by_appearance(keys(rows, distinct)).values():
                    seed, size = method["seed"], method.get("test_size")
                    if method["method"] == "shuffle":
                        left, right = train_test_split(members, test_size=size, train_size=method.get("train_size"), random_state=seed)
                    else:
                        frame = pd.Series(members)
                        right = frame.sample(**({"frac": size} if isinstance(size, float) else {"n": size}), random_state=seed)
                        left = frame.drop(right.index)
                    train += list(left)
                    test += list(right)
                return train, test
            yield {"rows": rows, "distinct": distinct, "method": method, **attempt(call)}


def python_sample():
    for rows in [0, 1, 2, 5, 15, 25, 100, 318, 322, 100003]:
        for size in [0.0, 0.1, 0.2, 0.5, 1.0, 0, 1, 3, 64]:
            for seed in SEEDS[:2]:
                def call():
                    drawn = random.Random(seed).sample(range(rows), round(size * rows) if isinstance(size, float) else size)
                    chosen = set(drawn)
                    return [i for i in range(rows) if i not in chosen], drawn
                yield {"rows": rows, "test_size": size, "seed": seed, **attempt(call)}


def samples_in_sequence():
    for seed in SEEDS:
        generator = random.Random(seed)
        samples = []
        for rows, size in [(25, 0.1), (870, 0.1), (35, 3), (2019, 0.25), (5, 0.5), (100003, 200)]:
            drawn = generator.sample(range(rows), round(size * rows) if isinstance(size, float) else size)
            samples.append({"rows": rows, "test_size": size, "test": digest(drawn)})
        yield {"seed": seed, "samples": samples}


def first_fit():
    for rows, distinct in TABLES:
        for wanted in [0, 1, 10, rows // 5, rows // 5 + 1, rows // 2]:
            def call():
                names = keys(rows, distinct)
                chosen, count = set(), 0
                for key, members in by_appearance(names).items():
                    if count + len(members) <= wanted:
                        chosen.add(key)
                        count += len(members)
                if not chosen or not 0 < wanted < rows:
                    raise ValueError
                return [i for i in range(rows) if names[i] not in chosen], [i for i in range(rows) if names[i] in chosen]
            yield {"rows": rows, "distinct": distinct, "wanted": wanted, **attempt(call)}


def values(rows, distinct):
    """Numbers with many ties."""
    return [int(key[1:]) for key in keys(rows, distinct)]


def cut():
    """Cuts in the order of a column. `ties` is the part that gets the rows with the value at the cut, or `divide`."""
    sizes = [(0.1, None), (0.2, None), (1 / 3, None), (0.5, None), (None, 0.8), (None, 0.75), (1, None), (None, 1), (7, None), (0.999999, None), (9914, None)]
    for rows, distinct in [(1, 1), (2, 2), (10, 1), (10, 3), (10, 10), (100, 7), (100, 90), (1000, 13), (20011, 900)]:
        frame = pd.DataFrame({"value": values(rows, distinct), "group": keys(rows, max(1, distinct // 2))})
        for (test, train), ties in [(size, ties) for size in sizes for ties in ["divide", "test", "train"]]:
            def call():
                ordered = frame.sort_values("value", kind="stable")
                left, right = train_test_split(ordered, test_size=test, train_size=train, shuffle=False)
                if ties == "test" and left.value.iloc[-1] == right.value.iloc[0]:
                    left, right = ordered[ordered.value < right.value.iloc[0]], ordered[ordered.value >= right.value.iloc[0]]
                if ties == "train" and left.value.iloc[-1] == right.value.iloc[0]:
                    left, right = ordered[ordered.value <= left.value.iloc[-1]], ordered[ordered.value > left.value.iloc[-1]]
                if left.empty or right.empty:
                    raise ValueError
                return left.index.tolist(), right.index.tolist()
            yield {"rows": rows, "distinct": distinct, "test_size": test, "train_size": train, "ties": ties, **attempt(call)}
        for least in [0, 1, distinct // 2, distinct - 1, distinct]:
            for grouped in [False, True]:
                def call():
                    compared = frame.groupby("group").value.transform("max") if grouped else frame.value
                    left, right = frame[compared < least], frame[compared >= least]
                    if left.empty or right.empty:
                        raise ValueError
                    return left.index.tolist(), right.index.tolist()
                yield {"rows": rows, "distinct": distinct, "least": least, "grouped": grouped, **attempt(call)}


if __name__ == "__main__":
    sections = [shuffle, stratified, sample, groups, within, python_sample, samples_in_sequence, first_fit, cut]
    write(pathlib.Path(__file__).parent / "splits.json", [(part.__name__, part()) for part in sections])
