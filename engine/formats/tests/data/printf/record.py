"""Writes printf.jsonl: [format, value, result of Python's `%`]. A value is an integer, a text, or {"f": bits of a double}."""
import json
import random
import struct

rng = random.Random(3)
numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 0.1, 123456.0, 1234567.0, 99999.95, 999999.5, 1e-4, 1e-5, 9.9999e-5, 1e15, 1e16, 1e17, 1e22, 1e100, 5e-324,
           1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 3.0000000000000004, 0.00012345678, 100.0, 1e5, 1e6]
integers = [0, 1, -1, 7, -7, 42, 255, 1000000, -1000000, 2**31, 2**63 - 1, -2**63]
texts = ["", "a", "abc", "Grüße", "日本語", "x y"]


def value():
    pick = rng.random()
    if pick < 0.4:
        return rng.choice(numbers) if rng.random() < 0.5 else struct.unpack("<d", rng.randbytes(8))[0]
    if pick < 0.55:
        return rng.uniform(-1000, 1000)
    if pick < 0.85:
        return rng.choice(integers)
    return rng.choice(texts)


def spelled(value):
    return {"f": struct.unpack("<Q", struct.pack("<d", value))[0]} if isinstance(value, float) else value


with open("printf.jsonl", "w") as out:
    for _ in range(6000):
        flags = "".join(rng.sample("-+ 0#", rng.choice([0, 0, 0, 1, 1, 2, 3])))
        width = rng.choice(["", "", "", "3", "8", "12", "20"])
        precision = rng.choice(["", "", ".", ".0", ".1", ".3", ".6", ".10", ".17"])
        letter = rng.choice("diusfFeEgGxXo")
        format = rng.choice(["", "", "a%%b "]) + "%" + flags + width + precision + letter + rng.choice(["", "", " x"])
        given = value()
        try:
            printed = format % (given,)
        except (TypeError, ValueError, OverflowError):
            printed = None
        out.write(json.dumps([format, spelled(given), printed], ensure_ascii=False, separators=(",", ":")) + "\n")
