"""Writes masks.jsonl: small arrays of every kind as files (hex), and the run-length code of their ones, down the columns."""
import io
import json

import numpy as np

rng = np.random.default_rng(9)


def code(array):
    """Returns the run-length code as competitions compute it: the places where the value changes, as pairs of start and length."""
    pixels = np.concatenate([[0], np.where(array.T.flatten() == 1, 1, 0), [0]])
    changes = np.where(pixels[1:] != pixels[:-1])[0] + 1
    changes[1::2] -= changes[::2]
    return " ".join(str(number) for number in changes)


with open("masks.jsonl", "w") as out:
    for dtype in ["bool", "i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]:
        for shape in [(), (0,), (7,), (5, 9), (4, 3, 1), (3, 4, 2), (0, 5)]:
            for order in "CF":
                for version in [(1, 0), (2, 0), (3, 0)] if shape == (5, 9) else [(1, 0)]:
                    values = rng.integers(0, 2, shape) if dtype == "bool" else rng.choice([0, 1, 1, 2, 5], shape)
                    array = np.asarray(values, dtype=dtype, order=order)
                    file = io.BytesIO()
                    np.lib.format.write_array(file, array, version=version)
                    out.write(json.dumps({"file": file.getvalue().hex(), "shape": shape, "code": code(array)}) + "\n")
