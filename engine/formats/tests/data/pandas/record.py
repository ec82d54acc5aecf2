"""Records how pandas reads small CSV files: `python record.py [NAME.jsonl]`, with pandas 2.2.3 and NumPy 1.26.4.

tables.jsonl   hand-written cases, one JSON object a line: in, options, and out + dtypes, or error
random.jsonl   random files of characters and cells with a special meaning, from a fixed seed
text.jsonl     random files of which some columns are text by request (`dtype={name: str}`) and the others are inferred
floats.jsonl   [text, value of the round-trip reader, value of the default reader] as Python prints them; null = not a float
A text that is not UTF-8 is written as hex under `hex`.
"""
import io, json, random, re, struct, sys, warnings
import pandas as pd

warnings.simplefilter("ignore")


def run(raw, sep=",", fast=False, text=None, types=None, header=True):
    """Reads a raw file with `read_csv`. Returns the case with pandas' results. `text` and `types` select columns for `dtype`."""
    options = {k: v for k, v in dict(sep=sep, fast=fast, text=text, types=types, header=header).items()
               if v != dict(sep=",", fast=False, text=None, types=None, header=True)[k]}
    case = {"in": raw} if isinstance(raw, str) else {"hex": raw.hex()}
    if options:
        case["options"] = options
    dtype = str if text == "*" else {**{n: str for n in text or []}, **(types or {})} or None
    data = raw.encode() if isinstance(raw, str) else raw
    try:
        frame = pd.read_csv(io.BytesIO(data), sep=sep, dtype=dtype, header=0 if header else None,
                            float_precision=None if fast else "round_trip")
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame()
    except Exception as error:
        case["error"] = type(error).__name__
        return case
    case["out"] = frame.to_csv(index=False)
    case["dtypes"] = " ".join(map(str, frame.dtypes))
    case["gaps"] = "".join("01"[int(g)] for g in frame.isna().any())
    case["rows"] = len(frame)
    return case


MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
NOT_MISSING = [" NA", "na", "Nan", "NONE", "none", "nAn", "NULL ", "<na>", "-NAN", "+nan", "#n/a", "1.#inf", "NAN"]
INTEGERS = ["0", "1", "-1", "007", "+5", " 8", "8 ", "\t9", "-0", "+0", "00", "-007", "9223372036854775807",
            "-9223372036854775808", "+9223372036854775807", "0000000000000000000000000001", "12\x0b", "\x0c12"]
BIG = ["9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809",
       "99999999999999999999", "-99999999999999999999", "+18446744073709551615", "9223372036854775808.5",
       "99999999999999999999.5", "9223372036854775808x", "99999999999999999999x", "-99999999999999999999x",
       " 9223372036854775808 ", "018446744073709551615"]
FLOATS = [".5", "3.", "+7.25", "1E+20", " 1e5 ", "1e16", "1e15", "123456789012345678.0", "0.1", "0.0001", "0.00001",
          "-0.0", "1e-400", "-1e-400", "-1e400", "1e22", "1e23", "1.50", "1.0", "0.30000000000000004", "5e-324",
          "2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993.0", "1e0", "00.5", "1.e5", ".5e1",
          "100000.0", "0.1234567890123456789", "12345678901234567890.0", "1e+05", "1E5", "1e05", "inf", "-inf", "+inf",
          "INF", "Infinity", "-Infinity", "+iNfInItY", "0e0", "0.10", "10.0", "1e-5", "1e-05", "1e+16", "-1.5e-07"]
NO_FLOATS = ["1_0", "0x1", "1d5", "1,000", "1e", "-", "+", ".", "e5", "1e+", " inf", "inf ", "1e400", "1.2.3", "--1",
             "1 2", "5%", "infin", "1e5.5", "+-1", "nanx", "٣"]
BOOLS = ["True", "False", "true", "false", "TRUE", "FALSE", "tRuE"]
NO_BOOLS = [" True", "True ", "T", "yes", "True1"]


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n\r') else cell


def column(*cells):
    """Returns a file with these cells and a column of integers, so that an empty cell does not yield an empty line."""
    return "x,n\n" + "".join(f"{quoted(c)},{i}\n" for i, c in enumerate(cells))


def tables():
    every = MISSING + NOT_MISSING + INTEGERS + BIG + FLOATS + NO_FLOATS + BOOLS + NO_BOOLS
    for cell in every:
        for fast in (False, True):
            yield run(column(cell), fast=fast)
            yield run(column("1", cell), fast=fast)
            yield run(column(cell, "1.5"), fast=fast)
        yield run(column(cell, ""))
        yield run(column("", cell, "True"))
        yield run(column(cell, "abc"))
        yield run(column("0.5", cell, "-3"))
        yield run(f'x\n"{cell}"\n2\n' if '"' not in cell else column(cell))
        yield run(f"x\n{cell}\n" if "," not in cell else column(cell))
        yield run(column("1", cell), text=["x"])
        yield run(column("1", cell, "2.5"), types={"x": "float64"})
        # pandas also casts floats with integer values, and uint64, to a requested integer type. The reader rejects them.
        for kind in ("int64", "int32", "int16", "int8", "float32") if cell not in BIG + FLOATS else ("float32",):
            yield run(column("300", cell), types={"x": kind})
    for a in BIG:
        for b in BIG + ["1", "-1", "", "NA", "0.5", "abc", "-", "-abc", "True", "1e400"]:
            yield run(column(a, b))
            yield run(column(b, a))
            yield run(column("1", a, b, "0.5"))
            yield run(column("-1", a, b, "x"))
    structure = [
        "", "\n", "\n\n\n", " ", "\ufeff", "\ufeff\n", "a", "a\n", "a,b", "a,b\n", "a,b\r\n", "a\n1", "a\n1\n2", "a\n\n1\n\n2\n",
        "\n\na,b\n1,2\n", "a,b\r1,2\r3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\r3,4\r\n5,6\n", "a,b\r\r1,2\r\r3,4\r",
        "a,b\n  \n1,2\n\t\n3,4\n", "a,b\n ,2\n", "a,b\n 1,2\n", "a\n 1\n x\n", "a\n \n1\n", "a,b\n1,2\n   ", "a,b\n1,2\n\t x,3",
        "\ufeffa,b\n1,2\n", "\ufeff\"a\",b\n1,2\n", "a,\ufeffb\n\ufeff1,2\n", "a,b\n1\n2,3\n", "a,b\n1,2\n3\n4,5\n", "a,b\n1,2\n3,4,5\n",
        "a,b\n1,2,3\n", "a,b\n1,2,3\n4,5,6\n", "a,b\n1,2,3\n4,5\n6\n7,8,9\n", "a,b\n1,2,3\n4,5,6,7\n", "a,b\n1,2,3,4\n5,6\n",
        "a\n1,2\n3,4\n", "a\n1,\n3,4\n", "a,b,\n1,2,3\n", "a,b,\n1,2,\n", "a,b\n1,2,\n3,4,\n", "a,b\n1\n2,3,4\n", "a,b,c\n1,2\n3,4,5\n6,7,8,9\n",
        "a,a\n1,2\n", "a,a,a\n1,2,3\n", "a,a.1,a\n1,2,3\n", "a.1,a,a\n1,2,3\n", "a,a,a.1,,\n1,2,3,4,5\n", ",\n1,2\n", ",Unnamed: 0\n1,2\n",
        "Unnamed: 0,,a\n1,2,3\n", ",,\n1,2,3\n", "a,,a,,a.1,a.1\n1,2,3,4,5,6\n", " a, b\n1,2\n", '"a","b"\n1,2\n', '"a,b",c\n1,2\n', '"a""b",c\n1,2\n',
        '"a\nb",c\n1,2\n', 'a"b,c\n1,2\n', '""\n1\n', '""\n', '"",""\n1,2\n', 'a\n""\n', 'a\n""\nx\n', 'a\n"NA"\nx\n', 'a\n" "\n', 'a,b\n"",""\n',
        'a,b\n"x",y\n', 'a,b\n"x,z",y\n', 'a,b\n"x""z",y\n', 'a,b\n"x\nz",y\n', 'a,b\n"x\rz",y\n', 'a,b\n"x\r\nz",y\n', 'a,b\n"x"y,z\n',
        'a,b\n"x"y"z",w\n', 'a,b\n"x" ,w\n', 'a,b\n "x",w\n', 'a,b\nx"y,w\n', 'a,b\nx"",w\n', 'a,b\n""x,w\n', 'a,b\n"""x""",w\n', 'a,b\n"""",w\n',
        'a,b\n"","\n",w\n', 'a,b\n"x,w\n', 'a,b\n1,"', 'a,b\n1,""', 'a,b\n1,"x"', 'a,b\n1,"x"\r', 'a,b\n1,"x\r', '"a\n', '"', '""', 'a,b\n"1","2"\n',
        'a,b\n"1.5",2\n', 'a,b\n"True",2\n', 'a\n"1\n"\n', 'a,b\n"a\n\nb",1\n', "a,b\n1,2\n3,4", "a,b\n1,2\n3,", "a,b\n1,2\n,", "a,b\n,\n,\n",
        "a\n1\n\n\n2\n ", "a;b\n1;2\n", "a\tb\n1\t2\n", "a,b\n'1',2\n", "a,b\n1\x002,x\x00y\n", "a\x00b,c\n1,2\n", 'a,b\n"x\x00,",2\n', "a\n\x00\n1\n",
        "ä,ö\nü,ß\n", "a,b\n\u2028,\u00a0\n", "a,b\n1,2\n,\n3,\n", "a,b\nTrue,1\n,0\n", "a\nTrue\nFalse\n", "a\n1\nTrue\n", "a\nTrue\n1\n", "a\nTrue\n1.5\n",
        "a\r", "\r", "\r\n", "a\r\n\r\n1\r\n", "a,b\n1,2\n\x1a", "a,b\n1,2\n#x,3\n", "a,b\r,2\r3,4\r", "a,b\n1,2\n\r\n3,4\n", "a,b\r\n\"x\r\ny\",2\r\n",
        "a,b\n1,x\n2,y\n,z\n", "a,b\n-9223372036854775808,1\n,2\n3,4\n", "a,b\n-9223372036854775808,1\n1,2\n", "n\n1\n\"\"\n3\n", "a\nx\n\"\"\ny\n",
    ]
    for raw in structure:
        yield run(raw)
        yield run(raw, header=False)
        yield run(raw, text="*")
        yield run(raw.replace(",", ";"), sep=";")
        yield run(raw.replace(",", "\t"), sep="\t")
        yield run(raw.replace("\n", "\r\n"))
    for raw in (b"a,b\n\xff,1\n", b"a,b\nx,1\n\xc3", b"a,b\n\xed\xa0\x80,1\n", b"\xff\xfea\x00", b"a,b\n\xf4\x90\x80\x80,1\n", b"\xe9,b\n1,2\n",
                b"a,b\n\xc3\xa9,1\n", b"\xef\xbb\xbfa\n1\n", b"\xef\xbb", b"a,b\n\xc0\x80,1\n"):
        yield run(raw)


def random_tables():
    rng = random.Random(20240917)
    atoms = [",", ",", ",", "\n", "\n", '"', '""', "\r", "\r\n", " ", "\t", "a", "b", "1", "2", "0", ".", "e", "-", "+", "NA", "True", "false", "1.5",
             "99999999999999999999", "9223372036854775808", "é", ";", "inf", "x y", "", "\x00", "007", "1e400", "nan"]
    for _ in range(4000):
        raw = "".join(rng.choice(atoms) for _ in range(rng.randrange(1, 30)))
        raw = rng.choice(["", "a,b\n", "a,b,c\n", "a\n"]) + raw
        # pandas reads rows twice if a row that starts with a space follows a lone CR; see the module `rows`.
        if not re.search("\r,?[ \t]+[^ \t\r\n]", raw):
            yield run(raw)
    cells = ["1", "2", "-3", "0", "1.5", "2.0", "", "NA", "x", "True", "False", "a,b", 'q"q', "l\nl", "c\rc", " s ", "1e5", "007", "18446744073709551615",
             "9223372036854775807", "-9223372036854775808", "0.1", "inf", "nan", "abc", "Ünï", "99999999999999999999"]
    for _ in range(2000):
        columns, rows = rng.randrange(1, 4), rng.randrange(0, 5)
        pools = [rng.sample(cells, rng.randrange(1, 4)) for _ in range(columns)]
        lines = [",".join("abc"[:columns])]
        for _ in range(rows):
            row = [rng.choice(pool) for pool in pools]
            lines.append(",".join(quoted(c) if rng.random() < 0.9 else '"' + c.replace('"', '""') + '"' for c in row))
        end = rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
        raw = end.join(lines) + (end if rng.random() < 0.9 else "")
        if not re.search("\r,?[ \t]+[^ \t\r\n]", raw):
            yield run(raw, fast=rng.random() < 0.3)


def text_tables():
    rng = random.Random(31)
    cells = ["1", "2", "-3", "0", "007", "0012", "1.5", "2.0", "1.50", "", "NA", "null", "<NA>", "x", "True", "false", "a,b", 'q"q', "l\nl", "c\rc", " s ",
             " 7", "+5", "1e5", "1E20", "0x1", "18446744073709551615", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "0.1",
             "inf", "nan", "Nan", "Ünï", "７", "１.５", "\u00a08", "1_0", "-", "--1", "١"]
    for _ in range(4000):
        columns, rows = rng.randrange(1, 6), rng.randrange(0, 8)
        pools = [rng.sample(cells, rng.randrange(1, 5)) for _ in range(columns)]
        names = rng.choice([list("abcde"), ["id", "id", "n", "", "x y"], ["1", "01", "NA", "a,b", "q\"q"]])[:columns]
        lines = [",".join(quoted(n) for n in names)]
        for _ in range(rows):
            row = [rng.choice(pool) for pool in pools]
            if rng.random() < 0.05:
                row = row[:rng.randrange(1, columns + 1)]
            lines.append(",".join(quoted(c) if rng.random() < 0.9 else '"' + c.replace('"', '""') + '"' for c in row))
        end = rng.choice(["\n", "\n", "\n", "\r\n"])
        raw = end.join(lines) + (end if rng.random() < 0.9 else "")
        try:
            read = list(pd.read_csv(io.StringIO(raw), index_col=False, nrows=0).columns)
        except Exception:
            continue
        text = rng.sample(read, rng.randrange(0, len(read) + 1)) if rng.random() < 0.9 else "*"
        yield run(raw, fast=rng.random() < 0.3, text=text)


def floats():
    rng = random.Random(7)
    texts = []
    for _ in range(400):
        texts.append(repr(struct.unpack("<d", rng.randbytes(8))[0]))
        texts.append(repr(rng.uniform(-180, 180)))
        texts.append("%.*f" % (rng.randrange(0, 20), rng.uniform(-1000, 1000)))
        texts.append("%.*e" % (rng.randrange(0, 20), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-330, 309)))
        texts.append(f"{rng.randrange(10 ** rng.randrange(1, 22))}.{rng.randrange(10 ** rng.randrange(1, 22))}")
        texts.append(f"0.{'0' * rng.randrange(0, 8)}{rng.randrange(10 ** rng.randrange(1, 18))}")
        texts.append(f"{rng.randrange(10 ** rng.randrange(1, 40))}e{rng.randrange(-700, 400)}")
    texts += ["1e-617", "1e-616", "1e-99999999999999999999", "1e-9999999999", "-1e-700", "-0e-700", "1e4294967296", "1e-4294967297", "0e400", "0e500",
              "0." + "0" * 400 + "1", "1" + "0" * 400, "1" + "0" * 308, "9" * 40, "1e00000000000000000005", "179769313486231580793e289"]
    for text in texts:
        values = []
        for precision in ("round_trip", None):
            frame = pd.read_csv(io.StringIO(f"x\n0.5\n{text}\n"), float_precision=precision)
            values.append(repr(float(frame.x[1])) if frame.x.dtype == "float64" else None)
        yield [text, *values]


def write(name, cases):
    seen = set()
    with open(name, "w") as out:
        for case in cases:
            line = json.dumps(case, ensure_ascii=False, separators=(",", ":"))
            if line not in seen and len(line) < 4000:
                seen.add(line)
                out.write(line + "\n")


if __name__ == "__main__":
    files = {"tables.jsonl": tables, "random.jsonl": random_tables, "text.jsonl": text_tables, "floats.jsonl": floats}
    for name in sys.argv[1:] or files:
        write(name, files[name]())
