"""Records how Python's json, pandas and pymongo process random documents: `python record_documents.py [COUNT [SEED]]`.

documents.jsonl has a line per case:

- `file` and `name`: a file of the bundle, with a character for each byte
- `tables`: the tables of a pipeline
- `outputs`: each output's text in the pipeline, and the CRC-32 of the original library's bytes; with `-v`, also these bytes
"""
import base64
import io
import json
import random
import sys
import warnings
import zlib
from pathlib import Path

import bson
import pandas as pd
from bson.codec_options import CodecOptions, DatetimeConversion
from pandas._libs.json import ujson_dumps

sys.path.insert(0, str(Path(__file__).parents[3] / "engine/formats/tests/data/json"))
import record_frames

warnings.simplefilter("ignore")
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 250
rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 5)
record_frames.rng = rng
KEYS = ["a", "b", "id", "file_name", "ü", "k/1", "with blank", "\U0001f355", "q\"", "new\nline", "", "0", "A"]
TEXTS = ["x", "", "007", "é/ü", "\U0001f355", "q\"\\", "\x00\x1f\x7f", "NA", "1.5", "a,b", "line\nbreak", "\u2028", "True", "null", " ", "</s>"]
# False permits lone surrogates and integers of more than 64 bits. It is in a list so that functions can assign it.
SAFE = [True]


def text():
    value = rng.choice(TEXTS)
    if not SAFE[0] and rng.random() < 0.1:
        return "\"\\ud83c\""
    return json.dumps(value, ensure_ascii=rng.random() < 0.5)


def number():
    form = rng.randrange(9)
    if form < 3:
        return str(rng.randrange(-9, 200))
    if form == 3:
        return str(rng.choice([2 ** 63, -2 ** 63, 2 ** 53 + 1, 2 ** 64 - 1, -2 ** 31, 2 ** 31]) if SAFE[0] else rng.randrange(-10 ** 25, 10 ** 25))
    if form == 4:
        return "%d.%de%d" % (rng.randrange(100), rng.randrange(10 ** 6), rng.randrange(-30, 25))
    if form == 5:
        return rng.choice(["-0.0", "0.0", "1e22", "1E-7", "5e-324", "1.7976931348623157e308", "1e400", "0.1", "1.0", "100000.0", "1e16", "123456789012345678.5"])
    return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-8, 18))


def scalar():
    form = rng.randrange(10)
    if form < 4:
        return number()
    if form < 7:
        return text()
    return rng.choice(["true", "false", "null", "null", rng.choice(["NaN", "Infinity", "-Infinity"])])


def blank():
    return rng.choice(["", "", "", " ", "\n", "\t\r\n "])


def value(depth=0):
    form = rng.randrange(10)
    if depth > 3 or form < 6:
        return scalar()
    if form < 8:
        return "[%s]" % ",".join(blank() + value(depth + 1) + blank() for _ in range(rng.randrange(4)))
    return obj(depth)


def obj(depth=0, keys=None):
    keys = keys if keys is not None else [rng.choice(KEYS) for _ in range(rng.randrange(5))]
    members = ",".join("%s%s%s:%s%s%s" % (blank(), json.dumps(key, ensure_ascii=rng.random() < 0.5), blank(), blank(), value(depth + 1), blank()) for key in keys)
    return "{%s}" % (members or blank())


def crc(data):
    return zlib.crc32(data.encode() if isinstance(data, str) else data)


OUTPUTS = [
    ("indent: 4, sort_keys: true", lambda v: json.dumps(v, indent=4, sort_keys=True)),
    ("indent: 0", lambda v: json.dumps(v, indent=0)),
    ("indent: 1", lambda v: json.dumps(v, indent=1)),
    ("sort_keys: true", lambda v: json.dumps(v, sort_keys=True)),
    ("", lambda v: json.dumps(v)),
]


def ujson(v):
    return ujson_dumps(v, double_precision=10)


def expected(outputs, path, what, make):
    """Adds an output: its declaration `what`, and the bytes that `make` returns. Omits it if `make` raises an error."""
    try:
        outputs[path] = [what, make()]
    except (UnicodeEncodeError, OverflowError):
        pass


def list_case():
    """Creates a case that reads the elements of a list: JSON lines, a JSON file, or a list at a path in the file."""
    SAFE[0] = rng.random() < 0.6
    lines = rng.random() < 0.3
    latin = rng.random() < 0.2
    elements = [obj() if rng.random() < 0.9 else value() for _ in range(rng.choice([0, 1, 2, 5, 12]))]
    encoding = "latin-1" if latin else "utf-8"
    at = ""
    if lines:
        texts = [element.replace("\n", " ").replace("\r", " ") for element in elements]
        content = rng.choice(["\n", "\r\n", "\n\n", "\n  \n"]).join(texts) + rng.choice(["", "\n"])
        name = "t.jsonl"
    else:
        name = "t.json"
        content = blank() + "[%s]" % ",".join(blank() + element + blank() for element in elements) + blank()
        if rng.random() < 0.5:
            content, at = '{"x": %s, "deep": [%s, %s, 1], "y": %s}' % (value(), value(), content, value()), "deep.1"
    data = content.encode()
    loaded = data.decode(encoding)
    if lines:
        items = [json.loads(line) for line in loaded.split("\n") if line.strip(" \t\r\n")]
    else:
        items = json.loads(loaded)
        items = items["deep"][1] if at else items
    keys = ["read: " + name] + (["at: " + at] if at else []) + (["encoding: latin-1"] if latin else [])
    tables = {"t": "{ %s }" % ", ".join(keys)}
    outputs = {}
    options, dump = rng.choice(OUTPUTS)
    comma = ", " if options else ""
    expected(outputs, "list.json", "{ json: SELECT record FROM t%s%s }" % (comma, options), lambda: dump(items))
    expected(outputs, "lines.jsonl", "SELECT record FROM t", lambda: "".join(json.dumps(item) + "\n" for item in items))
    expected(outputs, "ujson.jsonl", "{ json_lines: SELECT record FROM t, dialect: ujson }", lambda: "".join(ujson(item) + "\n" for item in items))
    expected(outputs, "ujson.json", "{ json: SELECT record FROM t WHERE _row <> 1, dialect: ujson }", lambda: ujson([item for number, item in enumerate(items) if number != 1]))
    if all(isinstance(item, dict) for item in items):
        expected(outputs, "without.jsonl", "SELECT json_without(record, 'a', '') AS record FROM t",
                 lambda: "".join(json.dumps({k: v for k, v in item.items() if k not in ("a", "")}) + "\n" for item in items))
        expected(outputs, "with.jsonl", "SELECT json_with(record, 'a', _row, 'ü', 1.5, 'z', true, 'n', NULL, 't', 'é') AS record FROM t",
                 lambda: "".join(json.dumps({**item, "a": n, "ü": 1.5, "z": True, "n": None, "t": "é"}) + "\n" for n, item in enumerate(items)))
    return name, data, tables, outputs


def unique(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise KeyError
    return dict(pairs)


def document_case():
    """Creates a case that replaces some members of an object."""
    SAFE[0] = rng.random() < 0.6
    keys = rng.sample([key for key in KEYS if key], rng.randrange(1, 6))
    listed = rng.sample(keys, rng.randrange(0, min(2, len(keys)) + 1))
    members = []
    for key in keys:
        inner = "[%s]" % ",".join(obj(1, rng.sample(KEYS, 2)) for _ in range(rng.randrange(4))) if key in listed else value(1)
        members.append("%s%s:%s%s" % (blank(), json.dumps(key), blank(), inner))
    data = ("{%s}" % ",".join(members)).encode()
    whole = json.loads(data)
    listed = [key for key in listed if "." not in key]
    quoted = lambda key: json.dumps(key, ensure_ascii=False)
    tables = {"t%d" % n: "{ read: t.json, at: %s }" % quoted(key) for n, key in enumerate(listed)}
    new, queries = dict(whole), []
    for n, key in enumerate(listed):
        form = rng.randrange(3)
        query, rows = [
            ("SELECT record FROM t%d ORDER BY _row DESC" % n, whole[key][::-1]),
            ("SELECT record FROM t%d WHERE _row > 0" % n, whole[key][1:]),
            ("SELECT _row AS n, 'é/' AS t FROM t%d" % n, [{"n": row, "t": "é/"} for row in range(len(whole[key]))]),
        ][form]
        new[key] = rows
        queries.append((key, query))
    if not queries:
        tables = {"t0": "{ read: t.json, at: . }"}
        queries, new = [("added", "SELECT json_get(record, 'key') AS k FROM t0")], {**whole, "added": [{"k": key} for key in whole]}
    only = ""
    if rng.random() < 0.4:
        kept = rng.sample(list(new), rng.randrange(1, len(new) + 1))
        if all(key in kept for key, _ in queries):
            only = ", only: [%s]" % ", ".join(map(quoted, kept))
            new = {key: new[key] for key in kept}
    members = "{ %s }" % ", ".join('%s: "%s"' % (quoted(key), query) for key, query in queries)
    outputs = {}
    for n, (options, dump) in enumerate(rng.sample(OUTPUTS, 2) + [("dialect: ujson", ujson)]):
        comma = ", " if options else ""
        expected(outputs, "whole%d.json" % n, "{ document: t.json, members: %s%s%s%s }" % (members, only, comma, options), lambda: dump(new))
    return "t.json", data, tables, outputs


COLUMNS = {
    "integer": lambda: str(rng.randrange(-2 ** 63, 2 ** 63) if rng.random() < 0.2 else rng.randrange(-9, 99)),
    "number": lambda: rng.choice([str(rng.randrange(-9, 99)), repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-8, 18)), "1e400", "-0.0"]),
    "boolean": lambda: rng.choice(["true", "false"]),
    "text": lambda: json.dumps(rng.choice([text for text in TEXTS if text])),
    "json": lambda: value(1),
    "inferred": None,
}


def columns_case():
    """Creates a case that reads members of records as columns, and builds objects from columns."""
    SAFE[0] = True
    names = ["a", "b", "c", "d", "e"][: rng.randrange(1, 6)]
    kinds = {name: rng.choice(list(COLUMNS)) for name in names}
    pools = {name: rng.choice([["integer"], ["number", "integer"], ["boolean"], ["text"], ["integer", "null"], ["number", "null"]]) if kind == "inferred" else [kind] for name, kind in kinds.items()}
    null = {name: rng.random() < 0.3 and kinds[name] != "inferred" for name in names}
    records = []
    for _ in range(rng.choice([1, 2, 5, 9])):
        record = {}
        for name in names:
            pool = rng.choice(pools[name])
            record[name] = "null" if pool == "null" or null[name] and rng.random() < 0.3 else COLUMNS[pool]()
        records.append("{%s}" % ", ".join('"%s": %s' % member for member in record.items()))
    data = ("[%s]" % ",\n".join(records)).encode()
    items = json.loads(data)
    frame = pd.DataFrame(items)
    rows = []
    for n, item in enumerate(items):
        row = {}
        for name in names:
            cell = item[name]
            if kinds[name] == "number" and cell is not None:
                cell = float(cell)
            if kinds[name] == "inferred":
                cell = frame[name].tolist()[n]
                cell = None if cell is None or cell != cell else cell
            row[name] = cell
        rows.append(row)
    tables = {"t": "{ read: t.json, columns: { %s } }" % ", ".join("%s: %s" % one for one in kinds.items())}
    outputs = {}
    source = rng.choice(["t", "kept"])
    if source == "kept":
        tables["kept"] = "SELECT * FROM t"
    expected(outputs, "rows.json", "SELECT * FROM %s" % source, lambda: json.dumps(rows))
    expected(outputs, "rows.jsonl", "{ json_lines: SELECT * FROM %s, dialect: ujson }" % source, lambda: "".join(ujson(row) + "\n" for row in rows))
    if "json" not in kinds.values():
        printed = frame[names].copy()
        for name in names:
            if kinds[name] == "number":
                printed[name] = printed[name].astype(float)
            if kinds[name] == "integer" and printed[name].hasnans:
                printed[name] = pd.Series([pd.NA if v is None else v for v in (item[name] for item in items)], dtype="Int64")
        expected(outputs, "rows.csv", "SELECT * FROM %s" % source, lambda: printed.to_csv(index=False))
    small = all(not isinstance(v, int) or -2 ** 63 <= v < 2 ** 63 for row in rows for name, v in row.items() if kinds[name] != "json")
    if small and "json" not in kinds.values():
        expected(outputs, "rows.bson", "SELECT * FROM %s" % source, lambda: b"".join(bson.encode(row) for row in rows))
    return "t.json", data, tables, outputs


def bson_value(depth=0):
    form = rng.randrange(19 if depth < 3 else 17)
    return [
        lambda: rng.randrange(-9, 99), lambda: rng.choice([2 ** 31, -2 ** 31 - 1, 2 ** 62]), lambda: bson.int64.Int64(rng.choice([5, -1, 2 ** 40])),
        lambda: rng.uniform(-1, 1) * 10.0 ** rng.randrange(-30, 30), lambda: rng.choice([0.0, -0.0, 1e16, 5.0, float("nan"), float("inf"), -float("inf")]),
        lambda: rng.choice(TEXTS), lambda: rng.choice([True, False]), lambda: None,
        lambda: bytes(rng.randrange(256) for _ in range(rng.randrange(9))), lambda: bson.Binary(b"ab", rng.choice([1, 2, 5, 128])),
        lambda: bson.ObjectId(bytes(rng.randrange(256) for _ in range(12))), lambda: bson.datetime_ms.DatetimeMS(rng.randrange(-6 * 10 ** 13, 2 * 10 ** 14)),
        lambda: bson.Regex("a/b", rng.choice(["", "im"])), lambda: bson.Code("x = 'é'", {"y": 1} if rng.random() < 0.5 else None),
        lambda: bson.Timestamp(rng.randrange(2 ** 32), 7), lambda: rng.choice([bson.MinKey(), bson.MaxKey()]),
        lambda: bson.DBRef("c", bson.ObjectId(b"123456789012"), rng.choice([None, "d"]), **({"more": 1} if rng.random() < 0.3 else {})),
        lambda: [bson_value(depth + 1) for _ in range(rng.randrange(4))],
        lambda: {rng.choice(["a", "b", "ü", "$x y", "d.e"]): bson_value(depth + 1) for _ in range(rng.randrange(4))},
    ][form]()


def bson_case():
    docs = []
    for n in range(rng.choice([1, 3, 8])):
        doc = {"id": n, "v": bson_value(), "list": [bson_value(1) for _ in range(2)]}
        for key in rng.sample(["a", "b", "ü", "k/1"], 2):
            doc[key] = bson_value()
        if rng.random() < 0.3:
            doc["_id"] = bson.ObjectId(b"123456789012")
        docs.append(doc)
    data = b"".join(bson.encode(doc) for doc in docs)
    options = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)
    loaded = bson.decode_all(data, options)
    tables = {"t": "{ read: t.bson, columns: { id: integer } }"}
    encode = lambda docs: b"".join(bson.encode(doc) for doc in docs)
    outputs = {}
    expected(outputs, "same.bson", "SELECT record FROM t", lambda: encode(loaded))
    expected(outputs, "part.bson", "SELECT json_without(record, 'v', 'a') AS record FROM t WHERE id % 2 = 0",
             lambda: encode([{k: v for k, v in doc.items() if k not in ("v", "a")} for doc in loaded if doc["id"] % 2 == 0]))
    expected(outputs, "more.bson", "SELECT json_with(record, 'v', 'é', 'n', _row) AS record FROM t",
             lambda: encode([{**doc, "v": "é", "n": n} for n, doc in enumerate(loaded)]))
    return "t.bson", data, tables, outputs


def plain(column):
    """Returns whether the values of the column do not change when they are converted to text and back."""
    return column.dtype != object or all(isinstance(v, str) and v or v is None or v is not True and v != v for v in column)


def frames_case():
    """Creates a case that reads records as the rows of a table, like pandas."""
    reader, text, _ = record_frames.case()
    name = "t.jsonl" if reader == "ujson" else "t.json"
    size = rng.choice([None, None, 1, 2, 3]) if reader == "ujson" else None
    outputs = {}
    columns = ""
    try:
        if reader == "ujson":
            frames = list(pd.read_json(io.StringIO(text), lines=True, chunksize=size or 1000))
        else:
            frames = [pd.DataFrame(json.loads(text))]
    except (ValueError, OverflowError):
        return None
    frames = [frame for frame in frames if len(frame)]
    if any(not len(frame.columns) for frame in frames):
        return None
    if reader == "ujson":
        expected(outputs, "rows.jsonl", "{ json_lines: SELECT record FROM t, dialect: ujson }", lambda: "".join(frame.to_json(orient="records", lines=True) for frame in frames))
    else:
        expected(outputs, "rows.json", "SELECT record FROM t", lambda: json.dumps(frames[0].to_dict("records")))
    names = [name for name in frames[0].columns if all(name in frame and frame[name].map(lambda v: not isinstance(v, (list, dict))).all() for frame in frames)]
    if names:
        columns = ", columns: [%s]" % ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
        expected(outputs, "cells.csv", "SELECT * FROM t", lambda: "".join(frame[names].to_csv(index=False, header=not n) for n, frame in enumerate(frames)))
    copied = [name for name in names if all(plain(frame[name]) for frame in frames)] if size is None else []
    if copied:
        query = "SELECT %s FROM t" % ", ".join("\"%s\"" % name for name in copied)
        expected(outputs, "cells.jsonl", "{ json_lines: '%s', dialect: ujson }" % query, lambda: frames[0][copied].to_json(orient="records", lines=True))
    dialect = reader + ("" if size is None else ", chunksize: %d" % size)
    return name, text.encode(), {"t": "{ read: %s, dialect: %s%s }" % (name, dialect, columns)}, outputs


def made():
    return rng.choice([list_case, list_case, document_case, columns_case, bson_case, frames_case, frames_case])() or made()


def case():
    name, data, tables, outputs = made()
    outputs = {path: [what, crc(made)] + ([made if isinstance(made, str) else base64.b64encode(made).decode()] if "-v" in sys.argv else []) for path, (what, made) in outputs.items()}
    return {"name": name, "file": data.decode("latin-1"), "tables": tables, "outputs": outputs}


if __name__ == "__main__":
    with open("documents.jsonl", "w") as out:
        for _ in range(COUNT):
            out.write(json.dumps(case(), ensure_ascii=False, separators=(",", ":")) + "\n")
