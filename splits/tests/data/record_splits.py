"""Records splits made by scikit-learn and pandas. Writes splits.json beside this file.

Keys of a table are made by `keys(rows, distinct)`, which the Rust tests repeat. Parts are kept as CRC-32 and first ten entries.
"""
import pathlib
import random

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from record_generators import SEEDS, digest, write


def keys(rows, distinct):
    """Text keys whose sorted order differs from that of first appearance."""
    return [f"k{(i * 2654435761 % 2**32 >> 16) % distinct}" for i in range(rows)]


def parts(train, test):
    return {"train": digest(train), "test": digest(test)}


def attempt(call):
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
            # Sizes do not depend on the seed: a few tables with all seeds will do.
            for seed in SEEDS if (test, train) == (0.1, None) else SEEDS[:1]:
                def call():
                    return train_test_split(range(rows), test_size=test, train_size=train, random_state=seed)
                yield {"rows": rows, "test_size": test, "train_size": train, "seed": seed, **attempt(call)}
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
    groups = {}
    for row, name in enumerate(names):
        groups.setdefault(name, []).append(row)
    return groups


def within_groups():
    for rows, distinct in TABLES:
        for size, below, last in [(0.2, 0, None), (0.2, 5, 0), (0.12, 5, 0), (0.2, 0, 0), (0.5, 7, 42)]:
            def call():
                train, test = [], []
                for members in by_appearance(keys(rows, distinct)).values():
                    if len(members) < below:
                        held = max(1, int(size * len(members))) if len(members) > 1 else 0
                        cut = len(members) - held
                        train += members[:cut]
                        test += members[cut:]
                    else:
                        left, right = train_test_split(members, test_size=size, random_state=0)
                        train += left
                        test += right
                if last is not None:
                    random.Random(last).shuffle(test)
                return train, test
            yield {"rows": rows, "distinct": distinct, "test_size": size, "below": below, "last": last, **attempt(call)}


def chunks():
    for rows, chunk in [(1000, 1000), (1001, 1000), (1002, 1000), (2500, 1000), (100, 7), (0, 5)]:
        def call():
            train, test = [], []
            for start in range(0, rows, chunk):
                left, right = train_test_split(range(start, min(start + chunk, rows)), test_size=0.1, random_state=0)
                train += left
                test += right
            return train, test
        yield {"rows": rows, "chunk": chunk, **attempt(call)}


def fill():
    for rows, distinct in TABLES:
        for wanted in [1, 10, rows // 5, rows // 5 + 1, rows // 2]:
            def call():
                frame = pd.DataFrame({"key": keys(rows, distinct)}).sample(frac=1, random_state=0)
                chosen, count = set(), 0
                for key, members in frame.groupby("key", sort=False):
                    if count + len(members) <= wanted:
                        chosen.add(key)
                        count += len(members)
                if count != wanted or not 0 < wanted < rows:
                    raise ValueError
                inside = frame["key"].isin(chosen)
                return frame.index[~inside], frame.index[inside]
            yield {"rows": rows, "distinct": distinct, "wanted": wanted, **attempt(call)}


def ratio_repair():
    for rows, distinct in TABLES:
        for size, ratio in [(0.22, 0.22), (0.1, 0.3), (0.5, 0.1), (0.9, 0.4)]:
            def call():
                names = keys(rows, distinct)
                counts = {name: len(members) for name, members in by_appearance(names).items()}
                train, test = train_test_split(list(counts), test_size=size, random_state=0)
                def share():
                    held = sum(counts[name] for name in test)
                    return held / (rows + held)
                while share() < ratio:
                    test.append(train.pop())
                while share() > ratio:
                    train.append(test.pop())
                return [i for i in range(rows) if names[i] in train], [i for i in range(rows) if names[i] in test]
            yield {"rows": rows, "distinct": distinct, "test_size": size, "ratio": ratio, **attempt(call)}


def both_sides():
    for rows, distinct in TABLES + [(60, 3000), (3000, 2500)]:
        for seed in [0, 7]:
            def call():
                frame = pd.DataFrame({"key": keys(rows, distinct)})
                draws = np.random.default_rng(seed)
                part = {}
                for key in frame["key"].unique():
                    members = frame[frame["key"] == key]
                    if len(members) >= 2:
                        first, second = members.sample(2, random_state=seed).index
                        part[first], part[second] = "train", "test"
                    else:
                        part[members.index[0]] = draws.choice(["train", "test"], 1, replace=False, p=[0.9, 0.1])[0]
                train, test = train_test_split([i for i in range(rows) if i not in part], test_size=0.1, random_state=seed)
                part.update({i: "train" for i in train} | {i: "test" for i in test})
                return [i for i in range(rows) if part[i] == "train"], [i for i in range(rows) if part[i] == "test"]
            yield {"rows": rows, "distinct": distinct, "seed": seed, **attempt(call)}


def nested():
    """Members of the sets: multiples of a and of b, sorted as text; those of both; and all, in order."""
    for rows, a, b, fraction in [(1000, 2, 3, 0.1), (300, 5, 7, 0.1), (60, 2, 3, 0.5), (5, 2, 3, 0.5), (2000, 11, 13, 0.25)]:
        left = sorted(range(0, rows, a), key=str)
        right = sorted(range(0, rows, b), key=str)
        both = [i for i in left if i % b == 0]
        rng = random.Random(0)
        where = {"rows": rows, "a": a, "b": b, "fraction": fraction}
        try:
            layers = [rng.sample(both, round(fraction * len(both)))]
            for pool in (left, right):
                layers.append(rng.sample([i for i in pool if i not in both], round(fraction * len(pool)) - len(layers[0])))
            chosen = {i for layer in layers for i in layer}
            layers.append(rng.sample([i for i in range(rows) if i not in chosen], round(fraction * rows) - len(chosen)))
            yield {**where, "layers": [digest(layer) for layer in layers]}
        except ValueError:
            yield {**where, "refused": True}


def sequential():
    for share, seed in [(0.01, 0), (0.3, 0), (0.3, 42), (1.0, 1)]:
        rng = np.random.RandomState(seed)
        picked = []
        for row in range(5000):
            words = row * 7 % 23
            if rng.uniform() <= share and words > 2:
                picked += [row, rng.randint(1, words - 1)]
        yield {"share": share, "seed": seed, **digest(picked)}


def draws():
    """A list shuffled by Python's random, then one of two and perhaps one of three for each item."""
    for rows in [0, 1, 10, 5000]:
        rng = random.Random(0)
        rng.shuffle(list(range(rows)))
        values = [0 if rng.choice([True, False]) else 1 + rng.choice([0, 1, 2]) for _ in range(rows)]
        rng = random.Random(0)
        lists = [value for _ in range(rows) for value in rng.sample(range(1, 21), 20)]
        yield {"rows": rows, "choices": digest(values), "lists": digest(lists)}


if __name__ == "__main__":
    sections = [shuffle, stratified, sample, groups, within_groups, chunks, fill, ratio_repair, both_sides, nested, sequential, draws]
    write(pathlib.Path(__file__).parent / "splits.json", [(part.__name__, part()) for part in sections])
