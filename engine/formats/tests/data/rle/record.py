"""Writes masks.jsonl: masks (C order, as hex bits), their shape, and their run-length code down the columns, computed with NumPy."""
import json

import numpy as np

rng = np.random.default_rng(5)


def code(mask):
    """Returns the run-length code as competitions compute it: the places where the value changes, as pairs of start and length."""
    pixels = np.concatenate([[0], mask.T.flatten(), [0]])
    changes = np.where(pixels[1:] != pixels[:-1])[0] + 1
    changes[1::2] -= changes[::2]
    return " ".join(str(number) for number in changes)


with open("masks.jsonl", "w") as out:
    for number in range(300):
        shape = tuple(int(n) for n in rng.integers(1, 12, rng.choice([1, 2, 2, 2, 3])))
        if len(shape) == 3 and number % 2:
            shape = shape[:2] + (1,)
        mask = (rng.random(shape) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])).astype(int)
        out.write(json.dumps({"shape": shape, "mask": "".join(map(str, mask.flatten())), "code": code(mask), "area": int(mask.sum())}) + "\n")
