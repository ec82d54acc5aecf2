"""Records how pandas writes cells (writer.jsonl) and combines blocks (blocks.jsonl): `python record_writer.py`.

Big inputs are made by a rule that `tests/pandas_blocks.rs` repeats: cell number i of a column is `pattern[k][i % len]`,
where k counts the blocks of the file. Only the MD5 of pandas' output is kept.
"""
import csv, hashlib, io, json, random, struct, warnings
import numpy as np
import pandas as pd

warnings.simplefilter("ignore")


def writer():
    rng = random.Random(3)
    values = [0.0, -0.0, 1.0, 0.1, 1e-5, 1e-4, 9.999999999e-5, 0.00012345, 1e15, 1e16, 123456789012345680.0, 5e-324, 1.7976931348623157e308, float("inf"),
              float("-inf"), 0.5, 1.5, 2.5, 0.125, 0.25, 1e22, 12345678901.5, 99999999995.0, 9999999999.5, 999999999.95, 1e10, 1e9, 0.30000000000000004,
              0.00000000005, 0.00000000015, 1.00000000005, 2.00000000015]
    values += [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(300)]
    values += [rng.uniform(-1e4, 1e4) for _ in range(200)] + [rng.randrange(10**6) / 2**rng.randrange(1, 40) for _ in range(200)]
    for v in values:
        if v == v:
            yield {"f64": v.hex(), "shortest": pd.DataFrame({"x": [v]}).to_csv(index=False)[2:-1],
                   "10g": pd.DataFrame({"x": [v]}).to_csv(index=False, float_format="%.10g")[2:-1],
                   "10f": pd.DataFrame({"x": [v]}).to_csv(index=False, float_format="%.10f")[2:-1],
                   "3g": "%.3g" % v, "0f": "%.0f" % v, "2f": "%.2f" % v}
    singles = [0.1, 1e-4, 1e-5, 1e10, 1e16, 9.999999e15, 123456789, 3.4e38, 1e-45, float("inf"), -0.0, 16777216, 0.3333333] + [rng.uniform(-1e3, 1e3) for _ in range(100)]
    singles += [v for v in (struct.unpack("<f", rng.randbytes(4))[0] for _ in range(300)) if v == v]
    for v in singles:
        yield {"f32": float(np.float32(v)).hex(), "shortest": pd.DataFrame({"x": np.array([v], "float32")}).to_csv(index=False)[2:-1]}
    texts = ["", "a", " a ", "a,b", 'q"', '"', "l\nl", "c\rc", "c\r\nc", "s;t", "t\tt", "'", "#", "True", "1", "ü", '""', ",", "\n", "NA"]
    for sep in (",", ";", "\t"):
        for quoting, end in [(quoting, end) for quoting in ("minimal", "nonnumeric", "all") for end in ("\n", "\r\n")]:
            q = {"minimal": csv.QUOTE_MINIMAL, "nonnumeric": csv.QUOTE_NONNUMERIC, "all": csv.QUOTE_ALL}[quoting]
            frame = pd.DataFrame({"te;xt": texts + [None], "in,t": range(len(texts) + 1), "f": [0.5] * len(texts) + [np.nan], "b": [True] * len(texts) + [False]})
            yield {"sep": sep, "quoting": quoting, "end": end, "texts": texts, "out": frame.to_csv(index=False, sep=sep, quoting=q, lineterminator=end)}
            yield {"sep": sep, "quoting": quoting, "end": end, "one": texts, "out": frame[["te;xt"]].to_csv(index=False, sep=sep, quoting=q, lineterminator=end)}


def blocks():
    ints, floats, bools, texts = ["1", "007", "+5", "-0"], ["1.50", "2", "1e5"], ["True", "FALSE"], ["x", "1", "NA", "true"]
    big, gaps, bgaps, raw = ["18446744073709551615", "1"], ["1", "NA", "3"], ["true", ""], ["18446744073709551615", "NA", "-1"]
    missing, huge = ["", "NA"], ["99999999999999999999", "5"]
    patterns = [[ints, floats], [ints, texts], [texts, ints], [floats, texts, bools], [bools, ints], [bools, floats], [bools, big], [bools, ints, big], [big, ints],
                [big, floats], [gaps, ints], [ints, gaps, texts], [bgaps, bools], [bgaps, ints], [raw, ints], [huge, floats], [missing, ints], [missing, bools],
                [missing, texts], [bools, ints, floats], [texts, big], [texts, gaps], [texts, bools, raw], [ints, missing, bools], [ints, ints], [ints, big, texts]]
    for columns in (2, 9):
        heuristic, size = 2**20 // columns, 1
        while size * 2 < heuristic:
            size *= 2
        if columns == 9:
            patterns = patterns[:2]
        for pattern in patterns:
            rows = size * (len(pattern) - 1) + 11
            raw_text = ",".join("abcdefghi"[:columns]) + "\n" + "".join(
                (pattern[i // size][i % len(pattern[i // size])] + f",{i % 7}" * (columns - 1)) + "\n" for i in range(rows))
            yield one(raw_text, {"columns": columns, "pattern": pattern, "rows": rows})
    # Rows of different length around the end of a block of 262144 rows.
    edge = 2**18
    for long in ([edge], [edge - 1], [edge + 1], [edge, edge + 2], [0]):
        for short in ([], [edge - 1], [edge + 1]):
            lines = ["1,2"] * (edge + 5)
            for i in short:
                lines[i] = "3"
            for i in long:
                lines[i] = "4,5,6"
            yield one("a,b\n" + "\n".join(lines) + "\n", {"long": long, "short": short, "rows": edge + 5})


def one(raw, case):
    try:
        frame = pd.read_csv(io.StringIO(raw), float_precision="round_trip")
    except pd.errors.ParserError:
        return {**case, "error": True}
    return {**case, "md5": hashlib.md5(frame.to_csv(index=False).encode()).hexdigest(), "dtypes": " ".join(map(str, frame.dtypes))}


for name, cases in (("writer.jsonl", writer()), ("blocks.jsonl", blocks())):
    with open(name, "w") as out:
        for case in cases:
            out.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")
