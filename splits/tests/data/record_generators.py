"""Records values drawn from the generators of NumPy and Python, in four JSON files next to this file.

A long result is stored as the CRC-32 of its little-endian 32-bit words and its first ten entries. A double is stored as its bits.
"""
import json
import pathlib
import random
import struct
import zlib

import numpy as np

SIZES = [0, 1, 2, 3, 4, 5, 8, 10, 16, 17, 31, 33, 100, 623, 624, 625, 1000, 1024, 1025, 2048, 2049, 4097, 65536, 65537, 100003, 1000003]
SEEDS = [0, 1, 8, 42, 2**32 - 1]
WIDE_SEEDS = SEEDS + [2**32, 2**40 + 7, 2**64 - 1]


def digest(values):
    """Length, CRC-32 and first ten entries of a list of 32-bit integers."""
    values = [int(v) for v in values]
    return {"len": len(values), "crc": zlib.crc32(np.asarray(values, dtype="<u4").tobytes()), "head": values[:10]}


def bits(values):
    """The bits of each double as an integer."""
    return [struct.unpack("<Q", struct.pack("<d", float(v)))[0] for v in values]


def numpy_legacy():
    yield "permutation", [
        {"n": n, "seed": s, **digest(np.random.RandomState(s).permutation(n))} for n in SIZES for s in SEEDS
    ]
    ranges = [(0, 1), (0, 2), (1, 7), (0, 676), (-5, 5), (3, 4), (0, 2**31), (0, 2**32 - 1), (0, 2**32), (0, 2**32 + 1),
              (-2**62, 2**62), (-2**63, 2**63 - 1)]
    yield "randint", [
        {"low": lo, "high": hi, "seed": s, "values": [int(v) for v in np.random.RandomState(s).randint(lo, hi, 12)]}
        for lo, hi in ranges for s in SEEDS
    ]
    yield "random_sample", [{"seed": s, "bits": bits(np.random.RandomState(s).random_sample(700)[-20:])} for s in SEEDS]
    yield "uniform", [{"seed": s, "bits": bits(np.random.RandomState(s).uniform(-3.7, 99.1, 20))} for s in SEEDS]
    yield "choice", [
        {"n": n, "size": k, "seed": s, **digest(np.random.RandomState(s).choice(n, k, replace=False))}
        for n, k in [(1, 0), (1, 1), (10, 3), (1000, 1000), (100003, 7)] for s in SEEDS
    ]
    mixed = []
    for s in SEEDS:
        r = np.random.RandomState(s)
        values = []
        for n in [1000, 1, 0, 7, 1500]:
            values += list(r.permutation(n)) + [r.randint(0, 1000), r.randint(5, 6)] + [int(r.random_sample() * 2**32)]
        mixed.append({"seed": s, **digest(values)})
    yield "mixed", mixed


def numpy_generator():
    yield "random", [{"seed": s, "bits": bits(np.random.default_rng(s).random(20))} for s in WIDE_SEEDS]
    yield "uniform", [{"seed": s, "bits": bits(np.random.default_rng(s).uniform(1, 100, 20))} for s in WIDE_SEEDS]


def python_random():
    def fresh(s):
        return random.Random(s)

    rows = []
    for s in WIDE_SEEDS:
        r = fresh(s)
        rows.append({"seed": s, "values": [[k, r.getrandbits(k)] for k in [0, 1, 2, 7, 31, 32, 33, 48, 63, 64] * 2]})
    yield "getrandbits", rows
    rows = []
    for s in WIDE_SEEDS:
        r = fresh(s)
        limits = [1, 2, 3, 4, 5, 1000, 2**31, 2**31 + 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1]
        rows.append({"seed": s, "values": [[n, r._randbelow(n)] for n in limits * 2]})
    yield "randbelow", rows
    yield "random", [{"seed": s, "bits": bits([r.random() for _ in range(20)])} for s in WIDE_SEEDS for r in [fresh(s)]]
    yield "uniform", [{"seed": s, "bits": bits([r.uniform(-3.7, 99.1) for _ in range(20)])} for s in WIDE_SEEDS for r in [fresh(s)]]
    yield "randint", [
        {"low": lo, "high": hi, "seed": s, "values": [r.randint(lo, hi) for _ in range(12)]}
        for lo, hi in [(0, 0), (0, 1), (0, 1009), (-5, 5), (-2**63, 2**62)] for s in WIDE_SEEDS for r in [fresh(s)]
    ]
    rows = []
    for n in [0, 1, 2, 3, 10, 100, 1000, 1023, 1024, 1025, 100003]:
        for s in SEEDS:
            items = list(range(n))
            fresh(s).shuffle(items)
            rows.append({"n": n, "seed": s, **digest(items)})
    yield "shuffle", rows
    pairs = [(0, 0), (1, 0), (1, 1), (20, 20), (21, 5), (22, 5), (21, 6), (85, 6), (86, 6), (85, 21), (86, 21), (277, 22), (278, 22),
             (1000, 10), (1000, 1000), (1045, 300), (1046, 300), (100003, 1000), (2**32 - 1, 50)]
    yield "sample", [{"n": n, "k": k, "seed": s, **digest(fresh(s).sample(range(n), k))} for n, k in pairs for s in SEEDS]
    yield "choice", [
        {"n": n, "seed": s, "values": [r.choice(range(n)) for _ in range(20)]} for n in [1, 2, 3, 1000] for s in SEEDS for r in [fresh(s)]
    ]


def rng():
    """Calls of one generator in random order, so a call that draws another number of words changes later values."""
    plan = random.Random(5)
    rows = []
    for kind in ["numpy", "numpy_generator", "python"]:
        for seed in SEEDS + [plan.randrange(2**32) for _ in range(15)]:
            g = {"numpy": np.random.RandomState, "numpy_generator": np.random.default_rng, "python": random.Random}[kind](seed)
            calls = []
            for _ in range(40):
                draw = plan.choice(["random", "uniform", "integers", "integers", "choice", "permutation", "sample"])
                call = {"draw": draw}
                if draw == "random":
                    value = bits([g.random_sample() if kind == "numpy" else g.random()])[0]
                elif draw == "uniform":
                    value = bits([g.uniform(-3.7, 99.1)])[0]
                elif draw == "integers":
                    width = plan.choice([1, 2, 3, 676, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 7, 2**62])
                    low = plan.choice([0, 0, 1, -5, -2**40])
                    call |= {"low": low, "high": low + width}
                    name = {"numpy": "randint", "numpy_generator": "integers", "python": "randrange"}[kind]
                    value = int(getattr(g, name)(low, low + width)) % 2**64
                elif draw == "choice":
                    call["n"] = plan.choice([1, 2, 3, 1000, 70000])
                    value = int(g.choice(range(call["n"]) if kind == "python" else call["n"]))
                elif draw == "permutation":
                    call["n"] = plan.choice([0, 1, 2, 7, 624, 1500, 70000])
                    items = list(range(call["n"]))
                    if kind == "python":
                        g.shuffle(items)
                    else:
                        items = g.permutation(call["n"])
                    value = digest(items)["crc"]
                elif kind == "numpy_generator":
                    continue
                else:
                    call["n"] = plan.choice([20, 1000, 70000])
                    call["k"] = plan.choice([0, 1, 5, 6, 20])
                    items = g.sample(range(call["n"]), call["k"]) if kind == "python" else g.choice(call["n"], call["k"], replace=False)
                    value = digest(items)["crc"]
                calls.append(call | {"value": value})
            rows.append({"kind": kind, "seed": seed, "calls": calls})
    yield "mixed", rows


def write(path, sections):
    """Writes one line per entry, so that a changed entry is a diff of one line."""
    lines = []
    for name, rows in sections:
        body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        lines.append(f'"{name}": [\n{body}\n]')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    for part in (numpy_legacy, numpy_generator, python_random, rng):
        write(here / f"{part.__name__}.json", part())
