"""Texts in encodings other than UTF-8, with invalid bytes, or with lines a thousand times longer than packed."""

from archives import zipped

RATIO = 1000  # the best compression ratio of deflate
ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0", "utf-32-be": b"\0\0\xfe\xff"}


def encoded(encoding, mark, form):
    """A table in an encoding, with its byte order mark or without."""

    def make(size, variant):
        width = 4 if "32" in encoding else 2
        text = "id,target\n" + form(size // width, variant)
        return (MARKS[encoding] if mark else b"") + text.encode(encoding)

    return make


def rows(size, variant):
    return f"3,{variant}\n" + "4,0\n" * (size // 4)


def one_line(size, variant):
    return f"3,{variant}" + "x" * size


def long(front, text, back):
    """A member that is one line and unpacks to a thousand times its length."""

    def make(name):
        return lambda size, variant: zipped([(name, front % variant + text * (size * RATIO // len(text)) + back)])

    return make


CSV = {
    **{f"{e}{'_mark' if mark else ''}": encoded(e, mark, rows) for e in ENCODINGS for mark in (False, True)},
    **{f"{e}_line": encoded(e, True, one_line) for e in ENCODINGS},
    "odd_utf_16": lambda size, variant: encoded("utf-16-le", True, rows)(size, variant) + b"\0",
    "lone_surrogates": lambda size, variant: b"\xff\xfei\0d\0\n\0%d\0" % variant + b"\0\xd8" * (size // 2),
    "marks": lambda size, variant: b"\xef\xbb\xbf" * (size // 3) + b"id,target\n3,%d\n" % variant,
    "returns": lambda size, variant: b"id,target\r3,%d\r" % variant + b"4,0\r" * (size // 4),
    "mixed_ends": lambda size, variant: b"id,target\n3,%d\n" % variant + b"4,0\r\n4,0\n4,0\r" * (size // 14),
    "invalid_utf_8": lambda size, variant: b"id,target\n3,%d\n" % variant + b"4,\xff\xfe\xc0\x80\n" * (size // 7),
    "nul_cells": lambda size, variant: b"id,target\n3,%d\n" % variant + b"\0,\0\n" * (size // 4),
    "nul_header": lambda size, variant: b"id\0,target\0" + b"\0" * size + b"\n3,%d\n" % variant,
    "equal_ids": lambda size, variant: b"id,target\n3,%d\n" % variant + b"3,0\n" * (size // 4),
    "long_ids": lambda size, variant: b"id,target\n" + b"".join(b"%d%d,0\n" % (i % 3, variant) + b"9" * 10_000 + b",0\n" for i in range(size // 10_010)),
    "columns_of_commas": lambda size, variant: b"," * size + b"\n%d\n" % variant,
    "equal_columns": lambda size, variant: b"id,target" + b",a" * (size // 2) + b"\n3,%d\n" % variant,
    "wide_wrong": lambda size, variant: b"id,target\n3,%d\n" % variant + b"4,0" + b"," * size + b"\n",
    "quotes_in_quotes": lambda size, variant: b'id,target\n3,%d\n"' % variant + b'"",""\n""' * (size // 9),
    "control": lambda size, variant: b"id,target\n3,%d\n" % variant + b"\x1b[2J\x07\x08,\x7f\n" * (size // 9),
    "wide_characters": lambda size, variant: ("id,target\n3,%d\n" % variant + "\u202e\u0301\U0010ffff,\ufeff\n" * (size // 13)).encode(),
    "not_numbers": lambda size, variant: b"id,target\n3,%d\n" % variant + b"4,x\n" * (size // 4),
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
    def make(size, variant):
        levels = size // len(begin + end)
        return b'[{"id": "x", "v": %d, "w": ' % variant + begin * levels + b"1" + end * levels + b"}]"

    return make


# Functions that make hostile files, by file name suffix and name. Their arguments are the approximate length of the file,
# and 0 or 1 for two variants of the file that differ in one value.
RECIPES = {
    "csv": CSV,
    "zip": {f"long_{name}": long(*parts)("a." + name.split("_")[0]) for name, parts in LONG.items()},
    "jsonl": {
        "submissions": lambda size, variant: b'{"competition_id": "g", "submission_path": "nowhere%d.csv"}\n' % variant * (size // 60),
        "unknown": lambda size, variant: b'{"competition_id": "y%d", "submission_path": "a.csv"}\n' % variant * (size // 55),
        "invalid": lambda size, variant: b"{%d\n" % variant * (size // 3),
        "long_path": lambda size, variant: b'{"competition_id": "g", "submission_path": "%d' % variant + b"a/" * (size // 2) + b'"}\n',
        "long_id": lambda size, variant: b'{"competition_id": "%d' % variant + b"a" * size + b'", "submission_path": "a.csv"}\n',
        "utf_16": lambda size, variant: ('\ufeff{"competition_id": "g", "submission_path": "%d.csv"}\n' % variant * (size // 120)).encode("utf-16-le"),
        "equal_keys": lambda size, variant: b"{" + b'"competition_id": "g",' * (size // 22) + b'"submission_path": "%d"}\n' % variant,
    },
    "json": {
        "marks": lambda size, variant: b"\xef\xbb\xbf" * (size // 3) + b"[%d]" % variant,
        "utf_16": lambda size, variant: ("\ufeff[%d" % variant + ",1" * (size // 4) + "]").encode("utf-16-le"),
        "utf_32": lambda size, variant: ("\ufeff[%d" % variant + ",1" * (size // 8) + "]").encode("utf-32-be"),
        "surrogates": lambda size, variant: b'["%d' % variant + b"\\ud800" * (size // 6) + b'"]',
        "exponents": lambda size, variant: b"[%d" % variant + b",1e999999999" * (size // 12) + b"]",
        "nested_in_record": json_nested(b"[", b"]"),
        "objects_in_record": json_nested(b'{"a":', b"}"),
        "long_keys": lambda size, variant: b'[{"%d' % variant + b"k" * (size // 2) + b'": 1}, {"k' + b"k" * (size // 2) + b'": 2}]',
        "reports": lambda size, variant: b'{"competition_reports": [%d' % variant + b',{"competition_id":"x","score":1}' * (size // 33) + b"]}",
        "deep_report": lambda size, variant: b'{"competition_reports": ' * (size // 25) + b"%d" % variant,
        "nan": lambda size, variant: b"[%d" % variant + b",NaN,-Infinity" * (size // 14) + b"]",
        "records_of_records": lambda size, variant: b'[{"a":%d}' % variant + b',{"a":{"b":{"c":[{"d":1}]}}}' * (size // 28) + b"]",
    },
    "toml": {
        "deep_list": lambda size, variant: b"a = " + b"[" * (size // 2) + b"%d" % variant + b"]" * (size // 2),
        "deep_table": lambda size, variant: b"[" + b"a." * (size // 2) + b"b]\nc = %d\n" % variant,
        "deep_key": lambda size, variant: b"a." * (size // 2) + b"b = %d\n" % variant,
        "inline": lambda size, variant: b"a = " + b"{a=" * (size // 4) + b"%d" % variant + b"}" * (size // 4),
        "keys": lambda size, variant: b"".join(b"k%d = %d\n" % (i, variant) for i in range(size // 10)),
        "equal_keys": lambda size, variant: b"a = %d\n" % variant * (size // 6),
        "tables": lambda size, variant: b"[[a]]\n" * (size // 6) + b"b = %d" % variant,
        "long_line": lambda size, variant: b"data-dir = '%d" % variant + b"x" * size + b"'",
        "utf_16": lambda size, variant: ("\ufeffmemory = '%dGB'\n" % variant + "# x\n" * (size // 8)).encode("utf-16-le"),
        "nul": lambda size, variant: b"%d" % variant + bytes(size),
    },
    "lock": {
        "lines": lambda size, variant: b"version = 1\n" + b"x%d\n" % variant * (size // 4),
        "sections": lambda size, variant: b"".join(b"[c%d]\nv1 = %d\n" % (i, variant) for i in range(size // 14)),
        "long_line": lambda size, variant: b"%d" % variant + b"x" * size,
    },
    "ids": {
        "unknown": lambda size, variant: b"".join(b"unknown-%d-%d\n" % (i, variant) for i in range(size // 13)),
        "equal": lambda size, variant: b"x\n" * (size // 2),
        "long": lambda size, variant: b"a" * size,
        "near": lambda size, variant: b"spaceship-titanik%d\n" % variant * (size // 18),
        "nul": lambda size, variant: bytes(size),
    },
}
