"""Texts in other encodings, with bytes that no text has, and with lines that unpack to much more."""

from archives import zipped

RATIO = 1000
ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0", "utf-32-be": b"\0\0\xfe\xff"}


def encoded(encoding, mark, form):
    """A table in an encoding, with its byte order mark or without."""

    def make(size, twist):
        width = 4 if "32" in encoding else 2
        text = "id,target\n" + form(size // width, twist)
        return (MARKS[encoding] if mark else b"") + text.encode(encoding)

    return make


def rows(size, twist):
    return f"3,{twist}\n" + "4,0\n" * (size // 4)


def one_line(size, twist):
    return f"3,{twist}" + "x" * size


def long(front, text, back):
    """A member that is one line and unpacks to a thousand times its length."""

    def make(name):
        return lambda size, twist: zipped([(name, front % twist + text * (size * RATIO // len(text)) + back)])

    return make


CSV = {
    **{f"{e}{'_mark' if mark else ''}": encoded(e, mark, rows) for e in ENCODINGS for mark in (False, True)},
    **{f"{e}_line": encoded(e, True, one_line) for e in ENCODINGS},
    "odd_utf_16": lambda s, t: encoded("utf-16-le", True, rows)(s, t) + b"\0",
    "lone_surrogates": lambda s, t: b"\xff\xfei\0d\0\n\0%d\0" % t + b"\0\xd8" * (s // 2),
    "marks": lambda s, t: b"\xef\xbb\xbf" * (s // 3) + b"id,target\n3,%d\n" % t,
    "returns": lambda s, t: b"id,target\r3,%d\r" % t + b"4,0\r" * (s // 4),
    "mixed_ends": lambda s, t: b"id,target\n3,%d\n" % t + b"4,0\r\n4,0\n4,0\r" * (s // 14),
    "invalid_utf_8": lambda s, t: b"id,target\n3,%d\n" % t + b"4,\xff\xfe\xc0\x80\n" * (s // 7),
    "nul_cells": lambda s, t: b"id,target\n3,%d\n" % t + b"\0,\0\n" * (s // 4),
    "nul_header": lambda s, t: b"id\0,target\0" + b"\0" * s + b"\n3,%d\n" % t,
    "equal_ids": lambda s, t: b"id,target\n3,%d\n" % t + b"3,0\n" * (s // 4),
    "long_ids": lambda s, t: b"id,target\n" + b"".join(b"%d%d,0\n" % (i % 3, t) + b"9" * 10_000 + b",0\n" for i in range(s // 10_010)),
    "columns_of_commas": lambda s, t: b"," * s + b"\n%d\n" % t,
    "equal_columns": lambda s, t: b"id,target" + b",a" * (s // 2) + b"\n3,%d\n" % t,
    "wide_wrong": lambda s, t: b"id,target\n3,%d\n" % t + b"4,0" + b"," * s + b"\n",
    "quotes_in_quotes": lambda s, t: b'id,target\n3,%d\n"' % t + b'"",""\n""' * (s // 9),
    "control": lambda s, t: b"id,target\n3,%d\n" % t + b"\x1b[2J\x07\x08,\x7f\n" * (s // 9),
    "wide_characters": lambda s, t: ("id,target\n3,%d\n" % t + "\u202e\u0301\U0010ffff,\ufeff\n" * (s // 13)).encode(),
    "not_numbers": lambda s, t: b"id,target\n3,%d\n" % t + b"4,x\n" * (s // 4),
}

LONG = {
    "csv": (b"id,target\n3,%d\n", b"x", b""),
    "csv_quoted": (b'id,target\n3,%d\n"', b"x", b""),
    "csv_header": (b"%d", b"x,", b""),
    "csv_returns": (b"id,target\r3,%d\r", b"\r", b""),
    "csv_nul": (b"id,target\n3,%d\n", b"\0", b""),
    "csv_utf_16": (b"\xff\xfei\0d\0\n\0%d\0", b"x\0", b""),
    "json": (b'[%d, "', b"x", b'"]'),
    "json_key": (b'[%d, {"', b"x", b'": 1}]'),
    "json_spaces": (b"[%d", b" ", b"]"),
    "json_numbers": (b"[%d", b",1", b"]"),
    "json_lists": (b"[%d", b",[]", b"]"),
    "json_deep": (b"[%d,", b"[", b""),
    "json_escapes": (b'[%d,"', b"\\u0000", b'"]'),
    "jsonl": (b'{"a": %d}\n{"a": "', b"x", b'"}'),
    "txt": (b"%d", b"x", b""),
    "txt_words": (b"%d", b"a b ", b""),
    "xml": (b"<a>%d<b ", b"a='1' ", b"/></a>"),
    "xml_deep": (b"%d", b"<a>", b""),
    "xml_comment": (b"%d<!--", b"-", b""),
    "html": (b"<html>%d", b"<p>x", b""),
    "svg": (b"<svg>%d", b"<g>", b""),
    "yaml": (b"a: %d\nb: ", b"[", b""),
    "md": (b"%d", b"|a", b"\n|-"),
    "tsv": (b"id\ttarget\n3\t%d\n", b"\t", b""),
    "ipynb": (b'{"cells": [%d', b',{"cell_type":"code","source":["x"]}', b"]}"),
    "geojson": (b'{"type":"FeatureCollection","features":[%d', b',{"type":"Feature"}', b"]}"),
}


def json_nested(begin, end):
    def make(size, twist):
        levels = size // len(begin + end)
        return b'[{"id": "x", "v": %d, "w": ' % twist + begin * levels + b"1" + end * levels + b"}]"

    return make


RECIPES = {
    "csv": CSV,
    "zip": {f"long_{name}": long(*parts)("a." + name.split("_")[0]) for name, parts in LONG.items()},
    "jsonl": {
        "submissions": lambda s, t: b'{"competition_id": "g", "submission_path": "nowhere%d.csv"}\n' % t * (s // 60),
        "unknown": lambda s, t: b'{"competition_id": "y%d", "submission_path": "a.csv"}\n' % t * (s // 55),
        "invalid": lambda s, t: b"{%d\n" % t * (s // 3),
        "long_path": lambda s, t: b'{"competition_id": "g", "submission_path": "%d' % t + b"a/" * (s // 2) + b'"}\n',
        "long_id": lambda s, t: b'{"competition_id": "%d' % t + b"a" * s + b'", "submission_path": "a.csv"}\n',
        "utf_16": lambda s, t: ('\ufeff{"competition_id": "g", "submission_path": "%d.csv"}\n' % t * (s // 120)).encode("utf-16-le"),
        "equal_keys": lambda s, t: b"{" + b'"competition_id": "g",' * (s // 22) + b'"submission_path": "%d"}\n' % t,
    },
    "json": {
        "marks": lambda s, t: b"\xef\xbb\xbf" * (s // 3) + b"[%d]" % t,
        "utf_16": lambda s, t: ("\ufeff[%d" % t + ",1" * (s // 4) + "]").encode("utf-16-le"),
        "utf_32": lambda s, t: ("\ufeff[%d" % t + ",1" * (s // 8) + "]").encode("utf-32-be"),
        "surrogates": lambda s, t: b'["%d' % t + b"\\ud800" * (s // 6) + b'"]',
        "exponents": lambda s, t: b"[%d" % t + b",1e999999999" * (s // 12) + b"]",
        "nested_in_record": json_nested(b"[", b"]"),
        "objects_in_record": json_nested(b'{"a":', b"}"),
        "long_keys": lambda s, t: b'[{"%d' % t + b"k" * (s // 2) + b'": 1}, {"k' + b"k" * (s // 2) + b'": 2}]',
        "reports": lambda s, t: b'{"competition_reports": [%d' % t + b',{"competition_id":"x","score":1}' * (s // 33) + b"]}",
        "deep_report": lambda s, t: b'{"competition_reports": ' * (s // 25) + b"%d" % t,
        "nan": lambda s, t: b"[%d" % t + b",NaN,-Infinity" * (s // 14) + b"]",
        "records_of_records": lambda s, t: b'[{"a":%d}' % t + b',{"a":{"b":{"c":[{"d":1}]}}}' * (s // 28) + b"]",
    },
    "toml": {
        "deep_list": lambda s, t: b"a = " + b"[" * (s // 2) + b"%d" % t + b"]" * (s // 2),
        "deep_table": lambda s, t: b"[" + b"a." * (s // 2) + b"b]\nc = %d\n" % t,
        "deep_key": lambda s, t: b"a." * (s // 2) + b"b = %d\n" % t,
        "inline": lambda s, t: b"a = " + b"{a=" * (s // 4) + b"%d" % t + b"}" * (s // 4),
        "keys": lambda s, t: b"".join(b"k%d = %d\n" % (i, t) for i in range(s // 10)),
        "equal_keys": lambda s, t: b"a = %d\n" % t * (s // 6),
        "tables": lambda s, t: b"[[a]]\n" * (s // 6) + b"b = %d" % t,
        "long_line": lambda s, t: b"data-dir = '%d" % t + b"x" * s + b"'",
        "utf_16": lambda s, t: ("\ufeffmemory = '%dGB'\n" % t + "# x\n" * (s // 8)).encode("utf-16-le"),
        "nul": lambda s, t: b"%d" % t + bytes(s),
    },
    "lock": {
        "lines": lambda s, t: b"version = 1\n" + b"x%d\n" % t * (s // 4),
        "sections": lambda s, t: b"".join(b"[c%d]\nv1 = %d\n" % (i, t) for i in range(s // 14)),
        "long_line": lambda s, t: b"%d" % t + b"x" * s,
    },
    "ids": {
        "unknown": lambda s, t: b"".join(b"unknown-%d-%d\n" % (i, t) for i in range(s // 13)),
        "equal": lambda s, t: b"x\n" * (s // 2),
        "long": lambda s, t: b"a" * s,
        "near": lambda s, t: b"spaceship-titanik%d\n" % t * (s // 18),
        "nul": lambda s, t: bytes(s),
    },
}
