"""Writes documents.jsonl: BSON documents, and the bytes that pymongo writes after reading them.

`python record.py`, with pymongo 4.10. A case: `in` (hex), and `out` (hex) or `error`.
"""
import json
import random
import struct

import bson

rng = random.Random(11)


def cstring(text):
    return text.encode() + b"\0"


def string(text):
    data = text.encode() + b"\0"
    return struct.pack("<i", len(data)) + data


def document(elements):
    body = b"".join(elements)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


TEXTS = ["", "a", "Grüße", "日本", "x\0y", "\U0001f600", "007", "line\nline"]
KEYS = ["_id", "category_id", "imgs", "picture", "a", "b", "c", "é", "", "a.b", "x y"]


def element(key, depth):
    kind = rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 16, 17, 18, 18, 19, 0xFF, 0x7F])
    if depth > 3 and kind in (3, 4, 15):
        kind = 16
    value = {
        1: lambda: struct.pack("<d", rng.choice([0.0, -0.0, 1.5, 1e300, float("inf"), float("-inf"), float("nan"), rng.random()])),
        2: lambda: string(rng.choice(TEXTS)),
        3: lambda: random_document(depth + 1),
        4: lambda: document([element(rng.choice(["0", "1", "7", "x"]), depth + 1) for _ in range(rng.randrange(4))]),
        5: binary,
        6: lambda: b"",
        7: lambda: rng.randbytes(12),
        8: lambda: bytes([rng.randrange(2)]),
        9: lambda: struct.pack("<q", rng.choice([0, -1, 1700000000123, -62135596800000, 253402300799999])),
        10: lambda: b"",
        11: lambda: cstring(rng.choice(["", "a.*b", "é"])) + cstring(rng.choice(["", "i", "xsi", "u", "smilux"])),
        13: lambda: string("f()"),
        14: lambda: string(rng.choice(TEXTS)),
        15: scope,
        16: lambda: struct.pack("<i", rng.choice([0, 1, -1, 2**31 - 1, -2**31, rng.randrange(2**31)])),
        17: lambda: struct.pack("<II", rng.randrange(2**32), rng.randrange(2**32)),
        18: lambda: struct.pack("<q", rng.choice([0, 5, -5, 2**63 - 1, -2**63, rng.randrange(2**40)])),
        19: lambda: rng.randbytes(15) + b"\x30",
    }.get(kind, lambda: b"")()
    return bytes([kind]) + cstring(key) + value


def binary():
    data = rng.randbytes(rng.choice([0, 1, 5, 16]))
    subtype = rng.choice([0, 0, 0, 2, 3, 4, 5, 128])
    if subtype in (3, 4):
        data = rng.randbytes(16)
    if subtype == 2:
        data = struct.pack("<i", len(data)) + data
    return struct.pack("<i", len(data)) + bytes([subtype]) + data


def scope():
    inner = string("g()") + random_document(4)
    return struct.pack("<i", len(inner) + 4) + inner


def random_document(depth=0):
    keys = [rng.choice(KEYS) for _ in range(rng.randrange(5))]
    if rng.random() < 0.8:
        keys = list(dict.fromkeys(keys))
    return document([element(key, depth) for key in keys])


def case(data):
    """Records what pymongo does with a document."""
    found = {"in": data.hex()}
    try:
        value = bson.decode(data)
        found["out"] = bson.encode(value).hex()
    except Exception as error:
        found["error"] = type(error).__name__
    return found


# First hand-written documents, valid and invalid. Then random documents, some of them also with a changed byte.
cases = [document([]), document([b"\x08a\0\x02"]), document([b"\x09a\0" + struct.pack("<q", 253402300800000)]),
         document([b"\x02a\0" + struct.pack("<i", 2) + b"\xff\0"]), document([b"\x20a\0"]), document([b"\x10a\0\1"]),
         document([b"\x05a\0" + struct.pack("<i", 5) + b"\x02" + struct.pack("<i", 2) + b"x"])]
for _ in range(700):
    data = random_document()
    cases.append(data)
    if rng.random() < 0.25 and len(data) > 5:
        place = rng.randrange(len(data))
        cases.append(data[:place] + bytes([rng.randrange(256)]) + data[place + 1:])
with open("documents.jsonl", "w") as out:
    for data in cases:
        out.write(json.dumps(case(data), separators=(",", ":")) + "\n")
