"""Records the tables that pandas creates from random lists of records: `python record_frames.py [COUNT [SEED]]` writes frames.jsonl.

A line is `[reader, text, expected]`. The reader `ujson` is `read_json(lines=True)` of the text, printed by
`to_json(orient="records", lines=True)`; `dataframe` is `DataFrame(json.loads(text))`, printed by
`json.dumps(to_dict("records"))`. If pandas raises an error, `expected` is null.
"""
import io
import json
import random
import sys
import warnings

import pandas as pd

warnings.simplefilter("ignore")
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 600
rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 11)
WORDS = ["x", "", "007", "1.0", "2", " 3 ", "1_0", "1e3", "nan", "inf", "-Infinity", "0x1", "1.5", "٣", "-0", "True", "null", "9223372036854775807", "1e400",
         "é\U0001f355/", 'q"\\', "a\u007f\u0001", "2020-01-01", "1.", ".5", "+7", "\u2003 8", "1__0"]
NUMERIC = ["007", "1.0", "2", " 3 ", "1_0", "1e3", "-0", "٣", "+7"]


def fraction():
    form = rng.randrange(6)
    if form == 0:
        return "%.*f" % (rng.randrange(1, 20), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-5, 15))
    if form == 1:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-25, 18))
    if form == 2:
        return "%d.%de%d" % (rng.randrange(100), rng.randrange(10 ** 6), rng.randrange(-30, 25))
    if form == 3:
        return rng.choice(["-0.0", "1e20", "1E-7", "5e-324", "1e308", "0.00000000005", "0.99999999999", "9.223372036854775e18", "9223372036854775808.0"])
    return "%d.0" % rng.randrange(-5, 2000)


def whole():
    return rng.choice(["%d.0" % rng.randrange(-9, 9), "-0.0", "1e3", "25e-1" if rng.random() < 0.1 else "250e-1", str(rng.randrange(-9, 9))])


KINDS = {
    "integer": lambda: str(rng.randrange(-5, 100)),
    "long": lambda: str(rng.choice([2 ** 63 - 1, -2 ** 63, 2 ** 53 + 1, rng.randrange(-2 ** 63, 2 ** 63)])),
    "unsigned": lambda: str(rng.randrange(2 ** 63, 2 ** 64)),
    "huge": lambda: str(rng.choice([2 ** 64, -2 ** 63 - 1, 10 ** 30])),
    "fraction": fraction,
    "whole": whole,
    "word": lambda: json.dumps(rng.choice(WORDS), ensure_ascii=rng.random() < 0.5),
    "numeric": lambda: json.dumps(rng.choice(NUMERIC)),
    "boolean": lambda: rng.choice(["true", "false"]),
    "null": lambda: "null",
    "nan": lambda: rng.choice(["NaN", "NaN", "Infinity", "-Infinity"]),
    "list": lambda: "[%s]" % ", ".join(value(2) for _ in range(rng.randrange(4))),
    "object": lambda: "{%s}" % ",".join('"%s" :%s' % (rng.choice("abcd"), value(2)) for _ in range(rng.randrange(4))),
}
SIMPLE = ["integer", "fraction", "whole", "word", "boolean", "null", "nan", "long", "unsigned"]


def value(depth=0):
    return KINDS[rng.choice(SIMPLE if depth > 1 else list(KINDS))]()


def case():
    """Returns the case of random records, which all JSON parsers accept."""
    names = rng.sample(["a", "b", "c", "id", "é/", "x_y", "with blank", "K"], rng.randrange(1, 6))
    kinds = {name: rng.choices(list(KINDS), weights=[5, 2, 2, 0.4, 5, 5, 4, 4, 4, 4, 2, 2, 2], k=rng.choice([1, 1, 1, 2, 2, 3])) for name in names}
    missing = {name: rng.choice([0, 0, 0, 0.2, 0.6]) for name in names}
    records = []
    for _ in range(rng.choice([1, 2, 3, 5, 9])):
        order = names if rng.random() < 0.7 else rng.sample(names, len(names))
        members = ['"%s"%s%s' % (name, rng.choice([":", ": "]), KINDS[rng.choice(kinds[name])]()) for name in order if rng.random() >= missing[name]]
        if members and rng.random() < 0.03:
            members.append(members[0])
        records.append("{%s}" % rng.choice([",", ", "]).join(members))
    if all(record == "{}" for record in records):
        return case()
    if rng.random() < 0.5:
        end = rng.choice(["\n", "\n", "\r\n", "\n\n", " \n"])
        text = end.join(records) + rng.choice(["", end])
        try:
            frame = pd.read_json(io.StringIO(text), lines=True)
            return ["ujson", text, frame.to_json(orient="records", lines=True)]
        except ValueError:
            return ["ujson", text, None]
    text = "[%s]" % ", ".join(records)
    return ["dataframe", text, json.dumps(pd.DataFrame(json.loads(text)).to_dict("records"))]


LOOSE = {
    "spelled": lambda: rng.choice(["007", "-", "1.", "-.5", "00.50", "1e", "2E+", "-0", "1.e1", "0012", "-e5", "NaN"]),
    "text": lambda: '"%s"' % "".join(rng.choice(["\\ud83d", "\\uDE00", "\\udc00", "\\u0041", "x", "\t", "\x01", "\x1f", "\\n"]) for _ in range(rng.randrange(4))),
    **{name: KINDS[name] for name in ["integer", "fraction", "whole", "null", "list", "object"]},
}


def loose_case():
    """Returns a case whose text ujson reads, but Python rejects or reads differently."""
    names = rng.sample(["a", "b", "c", "", "\\ud800k"], rng.randrange(1, 4))
    kinds = {name: rng.choices(list(LOOSE), k=rng.choice([1, 1, 2])) for name in names}
    blank = lambda: rng.choice(["", "", "", " ", "\x0b", "\xa0", "\x1c", "\u2003"])
    lines = []
    for _ in range(rng.choice([1, 2, 3, 5])):
        members = ['"%s":%s' % (name, LOOSE[rng.choice(kinds[name])]()) for name in names]
        comma = "," if rng.random() < 0.2 else ""
        lines.append(blank() + "{%s%s}" % (",".join(members), comma) + blank())
    text = "\n".join(lines) + rng.choice(["", "\n", "\n\x1c\n"])
    try:
        frame = pd.read_json(io.StringIO(text), lines=True)
        # A key with an unpaired surrogate crashes to_json.
        str(frame.to_dict("list")).encode()
        return ["ujson", text, frame.to_json(orient="records", lines=True)]
    except (ValueError, UnicodeEncodeError):
        return ["ujson", text, None]


if __name__ == "__main__":
    with open("frames.jsonl", "w") as out:
        cases = [case() for _ in range(COUNT)] + [loose_case() for _ in range(COUNT)]
        # If all columns are named "", pandas converts the name to a date. The crate rejects such lists.
        for one in cases:
            if one[2] is None or '"null":' not in one[2]:
                out.write(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n")
