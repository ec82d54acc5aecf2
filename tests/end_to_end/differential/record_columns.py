"""Records how pandas reads random CSV files in which random columns are declared as text: `python record_columns.py`.

columns.jsonl has a line per file: the declared types of columns, and the CRC-32 of
`read_csv(dtype={name: str}).to_csv(index=False)`. pandas infers the types of all other columns.
"""
import io
import json
import random
import warnings
import zlib

import pandas as pd

warnings.simplefilter("ignore")
rng = random.Random(77)
CELLS = ["1", "2", "-3", "007", "0012", "1.5", "2.0", "1.50", "", "NA", "null", "x", "True", "false", "a,b", 'q"q', "l\nl", " s ", " 7", "+5", "1e5", "1E20",
         "0x1", "18446744073709551615", "9223372036854775807", "99999999999999999999", "inf", "nan", "Nan", "Ünï", "７", "1_0", "-", "日本", "0", "00", "-0.0"]


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n') or rng.random() < 0.1 else cell


def case():
    names = list("abcdef")[:rng.randrange(1, 7)]
    pools = [rng.sample(CELLS, rng.randrange(1, 5)) for _ in names]
    rows = rng.choice([0, 1, 2, 3, 5, 8, 40])
    lines = [",".join(names)] + [",".join(quoted(rng.choice(pool)) for pool in pools) for _ in range(rows)]
    if len(names) == 1:
        lines = [line or '""' for line in lines]
    end = rng.choice(["\n", "\n", "\r\n"])
    csv = end.join(lines) + rng.choice(["", end])
    types = {name: rng.choice(["text", "text", "inferred", None]) for name in names}
    types = {name: kind for name, kind in types.items() if kind} or {"a": "text"}
    high = rng.random() < 0.3
    text = {name: str for name, kind in types.items() if kind == "text"}
    frame = pd.read_csv(io.StringIO(csv, newline=""), dtype=text, float_precision=None if high else "round_trip")
    return {"csv": csv, "types": types, **({"high": True} if high else {}), "crc": zlib.crc32(frame.to_csv(index=False).encode())}


if __name__ == "__main__":
    with open("columns.jsonl", "w") as out:
        for _ in range(800):
            out.write(json.dumps(case(), ensure_ascii=False, separators=(",", ":")) + "\n")
