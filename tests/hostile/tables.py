"""Tables and records whose memory or time could exceed what their length suggests."""

import io
import json
import struct
import zlib


def lines(first, line, size):
    return first + line * (size // len(line))


def columns(size, twist):
    """Half of the bytes is the header, the other half short rows."""
    count = size // 8
    return ",".join(f"c{i}" for i in range(count)).encode()[: size // 2] + b"\n%d\n" % twist + b"1\n" * (size // 4)


def different_keys(size, twist):
    out = [f'{{"t": {twist}}}']
    while sum(map(len, out)) < size and len(out) < 9000:
        out.append(f'{{"k{len(out)}": 1}}')
    return out


def keys_grow(size, twist):
    """Each record has all keys of the record before it, and one more."""
    out, total, i = [f'{{"t": {twist}}}'], 0, 1
    while total < size:
        out.append("{" + ",".join(f'"{k}":1' for k in range(i)) + "}")
        total += len(out[-1])
        i += 1
    return out


def joined(records):
    return ("[" + ",".join(records) + "]").encode()


def json_lines(records):
    return "\n".join(records).encode() + b"\n"


def npy(shape, descr="'<f8'", data=b"", twist=0):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data + bytes([twist])


def parquet(table, **options):
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def parquet_of(columns, **options):
    import pyarrow as pa

    return parquet(pa.table(columns), **options)


def pq_strings(size, twist, rows=1_000_000, compression="zstd"):
    import pyarrow as pa

    words = pa.array(["x" * (size * 2 if compression == "zstd" else size // 2), f"t{twist}"])
    codes = pa.array([1] + [0] * (rows - 1), pa.int32())
    return parquet_of({"a": pa.DictionaryArray.from_arrays(codes, words)}, compression=compression)


def pq_plain_strings(size, twist):
    return parquet_of({"a": [f"t{twist}"] + ["x" * 1000] * (size * 9 // 10)}, use_dictionary=False, compression="zstd")


def pq_nulls(size, twist):
    import pyarrow as pa

    return parquet_of({"a": pa.array([twist] + [None] * (size * 90), pa.int64())})


def pq_zeros(size, twist):
    import numpy as np

    values = np.zeros(size * 140)
    values[0] = twist
    return parquet_of({"a": values}, compression="zstd", use_dictionary=False)


def pq_wide(size, twist):
    count = max(1, size // 300)
    return parquet_of({f"c{i}": [twist, 1] for i in range(count)})


def pq_wide_long(size, twist):
    import numpy as np

    count = max(1, size // 300)
    return parquet_of({f"c{i}": np.full(100_000, twist if i == 0 else 1, np.int8) for i in range(count)})


def pq_lists(size, twist):
    import pyarrow as pa

    return parquet_of({"a": pa.array([[twist] * 10] + [[1] * 100_000] * max(1, size // 500), pa.list_(pa.int8()))}, compression="zstd")


def pq_nested(size, twist, levels=80):
    import pyarrow as pa

    kind, value = pa.int8(), twist
    for _ in range(levels):
        kind, value = pa.list_(kind), [value]
    return parquet_of({"a": pa.array([value] * (size // 10), kind)})


def pq_deep(size, twist):
    """A column inside of as many groups as fit into the file."""
    levels = size // 7
    count, length = levels + 2, b""
    while count >= 128:
        length += bytes([count & 127 | 128])
        count >>= 7
    footer = b"\x15\x02\x19\xfc" + length + bytes([count])
    footer += b"\x48\x01a\x15\x02\0" + b"\x35\x02\x18\x01a\x15\x02\0" * levels + b"\x15\x02\x25\x02\x18\x01" + bytes([97 + twist]) + b"\0"
    footer += b"\x16\0\x19\x0c\0"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def pq_groups(size, twist):
    import pyarrow as pa

    return parquet(pa.table({"a": [twist] + [1] * (size // 350)}), row_group_size=1)


def bson_document(elements):
    return struct.pack("<i", len(elements) + 5) + elements + b"\0"


def bson_nested(levels, twist):
    content = bson_document(b"\x10t\0" + struct.pack("<i", twist))
    for _ in range(levels):
        content = bson_document(b"\3a\0" + content)
    return content


def bson_grow(size, twist):
    out, i = bson_document(b"\x10t\0" + struct.pack("<i", twist)), 0
    while len(out) < size:
        out += bson_document(b"".join(b"\x10%d\0\1\0\0\0" % k for k in range(i)))
        i += 1
    return out


def bson_keys(size, twist):
    out, parts = bson_document(b"\x10t\0" + struct.pack("<i", twist)), []
    for i in range(size // 18):
        parts.append(bson_document(b"\x10%d\0\1\0\0\0" % i))
    return out + b"".join(parts)


def mat_element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def mat_matrix(cls, dims, data_type, data, name=b"v"):
    return mat_element(14, mat_element(6, struct.pack("<II", cls, 0)) + mat_element(5, struct.pack(f"<{len(dims)}i", *dims)) + mat_element(1, name) + (mat_element(data_type, data) if data is not None else b""))


def mat(*elements):
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def mat_packed(size, twist, levels=1):
    element = mat_matrix(6, (size * 100, 1), 9, bytes(size * 800 - 1) + bytes([twist]))
    for _ in range(levels):
        element = mat_compressed(element)
    return mat(element)


def mat_compressed(element):
    packed = zlib.compress(element, 9)
    return struct.pack("<II", 15, len(packed)) + packed


def mat_cells(size, twist):
    count = size * 5
    head = mat_element(6, struct.pack("<II", 1, 0)) + mat_element(5, struct.pack("<ii", count, 1)) + mat_element(1, b"v")
    cells = mat_matrix(6, (1, 1), 9, struct.pack("<d", twist), b"") + mat_matrix(6, (1, 1), 9, bytes(8), b"") * (count - 1)
    return mat(mat_compressed(mat_element(14, head + cells)))


def mat_bytes(size, twist):
    """Doubles stored as bytes."""
    element = mat_matrix(6, (size * 900, 1), 2, bytes(size * 900 - 1) + bytes([twist]))
    return mat(mat_compressed(element))


def crc32c_table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        yield n


CRC = list(crc32c_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(length, payload):
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", crc32c(head)) + payload + struct.pack("<I", crc32c(payload))


def field(number, content):
    out, length = bytes([number << 3 | 2]), len(content)
    while length >= 128:
        out += bytes([length & 127 | 128])
        length >>= 7
    return out + bytes([length]) + content


def example(name, content):
    return field(1, field(1, field(1, name) + field(2, content)))


def wav(frames, twist, claim=None, channels=1, bits=16):
    data = bytes(max(0, frames * channels * bits // 8 - 1)) + bytes([twist])
    size = len(data) if claim is None else claim
    return b"RIFF" + struct.pack("<I", 36 + size & 0xFFFFFFFF) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, 16000, 32000, channels * bits // 8, bits) + b"data" + struct.pack("<I", size & 0xFFFFFFFF) + data


def npy_version(version, header, twist):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes([twist])


def book(parts):
    from archives import zipped

    return zipped([(f"xl/{name}", content) for name, content in parts])


def sheet(content):
    return b"<worksheet><sheetData>" + content + b"</sheetData></worksheet>"


def wav_of(chunks):
    content = b"WAVE" + chunks
    return b"RIFF" + struct.pack("<I", len(content) & 0xFFFFFFFF) + content


def nested_field(levels):
    content = b""
    for _ in range(levels):
        content = field(1, content)
    return content


RECIPES = {
    "xlsx": {
        "far_cells": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row><c r='XFD1048576'><v>%d</v></c></row>" % t * (s * 8)))]),
        "far_rows": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row r='1048576'><c r='ZZZZZZZ4294967295'><v>%d</v></c></row>" % t * (s * 8)))]),
        "empty_cells": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row>" + b"<c/>" * (s * 200) + b"<c><v>%d</v></c></row>" % t))]),
        "empty_rows": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row/>" * (s * 150) + b"<row><c><v>%d</v></c></row>" % t))]),
        "wide_then_long": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row>" + b"<c><v>%d</v></c>" % t * (s * 2) + b"</row>" + b"<row><c><v>1</v></c></row>" * (s * 10)))]),
        "sheets": lambda s, t: book([(f"worksheets/sheet{i}.xml", sheet(b"<row><c><v>%d</v></c></row>" % t)) for i in range(s // 150)]),
        "strings": lambda s, t: book([("sharedStrings.xml", b"<sst>" + b"<si><t/></si>" * (s * 70) + b"</sst>"), ("worksheets/sheet1.xml", sheet(b"<row><c t='s'><v>%d</v></c></row>" % t))]),
        "index": lambda s, t: book([("sharedStrings.xml", b"<sst/>"), ("worksheets/sheet1.xml", sheet(b"<row><c t='s'><v>18446744073709551615</v></c><c><v>%d</v></c></row>" % t * (s * 8)))]),
        "runs": lambda s, t: book([("sharedStrings.xml", b"<sst><si>" + b"<r><t>x</t></r>" * (s * 60) + b"</si></sst>"), ("worksheets/sheet1.xml", sheet(b"<row><c t='s'><v>0</v></c></row>" * (s * 20) + b"%d" % t))]),
        "deep": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row>" * (s * 100) + b"%d" % t))]),
        "inline": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row><c t='inlineStr'><is><t>" + b"x" * (s * 500) + b"%d</t></is></c></row>" % t))]),
        "attributes": lambda s, t: book([("worksheets/sheet1.xml", sheet(b"<row " + b"a='1' " * (s * 100) + b"><c><v>%d</v></c></row>" % t))]),
    },
    "csv": {
        "columns": columns,
        "wide_rows": lambda s, t: b",".join([b"c"] * (s // 4)) + b"\n%d" % t + b"," * (s // 2) + b"\n",
        "one_line": lambda s, t: b"a" * s + b"%d" % t,
        "quotes": lambda s, t: b'a\n"%d' % t + b'""' * (s // 2),
        "newlines": lambda s, t: b"a\n%d" % t + b"\n" * s,
        "short_rows": lambda s, t: lines(b"a\n%d\n" % t, b"1\n", s),
        "equal_rows": lambda s, t: lines(b"a,b\n%d,1\n" % t, b"0,0\n", s),
        "zeros": lambda s, t: b"a\n%d\n" % t + bytes(s),
        "long_numbers": lambda s, t: b"a\n%d\n" % t + (b"9" * (s // 2) + b"\n") * 2,
        "exponents": lambda s, t: lines(b"a\n%d\n" % t, b"1e999999999\n", s),
        "unclosed": lambda s, t: b'a,b\n%d,"' % t + b"x\n" * (s // 2),
        "lists": lambda s, t: lines(b"id,a\n%d,1\n" % t, b'1,"[[[[[[1, 2]]]]]]"\n', s),
        "deep_list": lambda s, t: b'id,a\n%d,1\n1,"' % t + b"[" * (s // 2) + b"]" * (s // 2) + b'"\n',
        "dates": lambda s, t: lines(b"id,d\n%d,1\n" % t, b"1,99999-99-99 99:99\n", s),
        "unique": lambda s, t: b"id,a,b\n%d,1,1\n" % t + b"".join(b"%d,%d,x\n" % (i, i * 7919 % 9973) for i in range(s // 12)),
        "spaces": lambda s, t: b"id,a\n%d,1\n1,%sx\n" % (t, b" a" * (s // 2)),
        "two_words": lambda s, t: b"id,a\n%d,1\n" % t + b"".join(b"%d,%s\n" % (i, b"ab " * 300) for i in range(s // 1000)),
    },
    "txt": {
        "newlines": lambda s, t: b"%d" % t + b"\n" * s,
        "one_line": lambda s, t: b"%d" % t + b"a b " * (s // 4),
        "short_lines": lambda s, t: lines(b"%d\n" % t, b"a\n", s),
        "zeros": lambda s, t: bytes(s) + b"%d" % t,
        "markup": lambda s, t: b"%d" % t + b"<a><" * (s // 4),
    },
    "json": {
        "deep": lambda s, t: b"[" * (s // 2) + b"%d" % t + b"]" * (s // 2),
        "deep_objects": lambda s, t: b'{"a":' * (s // 6) + b"%d" % t + b"}" * (s // 6),
        "empty_objects": lambda s, t: joined([f'{{"t":{t}}}'] + ["{}"] * (s // 3)),
        "empty_lists": lambda s, t: joined([f"[{t}]"] + ["[]"] * (s // 3)),
        "different_keys": lambda s, t: joined(different_keys(s, t)),
        "keys_grow": lambda s, t: joined(keys_grow(s, t)),
        "digits": lambda s, t: b"[%d, " % t + b"9" * s + b"]",
        "fraction": lambda s, t: b"[%d, 0." % t + b"9" * s + b"]",
        "escapes": lambda s, t: b'["%d", "' % t + b"\\u0000" * (s // 6) + b'"]',
        "equal_keys": lambda s, t: b"{" + b",".join(b'"a":%d' % (i * t) for i in range(s // 8)) + b"}",
        "many_keys": lambda s, t: b"{" + b",".join(b'"%d":%d' % (i, t) for i in range(s // 10)) + b"}",
        "lists_of_records": lambda s, t: b"{" + b",".join(b'"%d":[{"a":%d}]' % (i, t) for i in range(s // 18)) + b"}",
        "unclosed": lambda s, t: b"[%d," % t + b'{"a":[' * (s // 6),
    },
    "jsonl": {
        "short": lambda s, t: lines(b'{"a":%d}\n' % t, b"{}\n", s),
        "numbers": lambda s, t: lines(b"%d\n" % t, b"1\n", s),
        "different_keys": lambda s, t: json_lines(different_keys(s, t)),
        "keys_grow": lambda s, t: json_lines(keys_grow(s, t)),
        "deep": lambda s, t: b'{"t":%d}\n{"a":' % t + b"[" * (s // 2) + b"]" * (s // 2) + b"}\n",
        "nested_lists": lambda s, t: lines(b'{"a":[%d]}\n' % t, b'{"a":[[],[],[]]}\n', s),
    },
    "npy": {
        "claim": lambda s, t: npy("(1000000000000,)", data=bytes(s), twist=t),
        "no_width": lambda s, t: npy("(1000000000000, 0)", twist=t),
        "zero_itemsize": lambda s, t: npy("(10000000,)", "'|S0'", twist=t),
        "bytes_wide": lambda s, t: npy(f"(1, {s})", "'|u1'", bytes(s - 1), t),
        "bytes_tall": lambda s, t: npy(f"({s},)", "'|u1'", bytes(s - 1), t),
        "structured": lambda s, t: npy("(1,)", "[" + ", ".join(f"('f{i}', '<f8')" for i in range(min(s, 50_000) // 20)) + "]", bytes(80), t),
        "objects": lambda s, t: npy(f"({s},)", "'|O'", bytes(s), t),
        "dims": lambda s, t: npy("(" + "1, " * min(s // 3, 20000) + ")", "'|u1'", b"", t),
        "long_header": lambda s, t: npy_version(2, b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" + b" " * s + b"\n", t),
        "header_claim": lambda s, t: b"\x93NUMPY\3\0\xff\xff\xff\xff" + b" " * s + bytes([t]),
        "keys_2": lambda s, t: npy_version(2, b"{" + b"'descr': '<f8', " * (s // 16) + b"}\n", t),
        "literal_2": lambda s, t: npy_version(2, b"{'shape': " + b"(" * (s // 2) + b"1," * (s // 4), t),
        "text_2": lambda s, t: npy_version(2, b"{'descr': '" + b"<" * s + b"'}\n", t),
        "numbers_2": lambda s, t: npy_version(2, b"{'shape': (" + b"9" * s + b",)}\n", t),
        "unicode_wide": lambda s, t: npy("(1,)", f"'<U{s * 1000}'", bytes(s), t),
        "minus": lambda s, t: npy("(-1, -1)", "'<f8'", bytes(s), t),
        "subarrays": lambda s, t: npy("(1,)", "[('a', " * min(s // 8, 5000) + "'<f8'" + ")]" * min(s // 8, 5000), bytes(80), t),
        "literal": lambda s, t: npy("(" * min(s // 2, 30000) + ")" * min(s // 2, 30000), "'|u1'", b"", t),
    },
    "parquet": {
        "big_strings": pq_strings,
        "big_strings_plain": lambda s, t: pq_strings(s, t, compression="none"),
        "strings": pq_plain_strings,
        "nulls": pq_nulls,
        "zeros": pq_zeros,
        "wide": pq_wide,
        "wide_long": pq_wide_long,
        "lists": pq_lists,
        "nested": pq_nested,
        "deep": pq_deep,
        "groups": pq_groups,
    },
    "bson": {
        "nested": lambda s, t: bson_nested(s // 8, t),
        "empty": lambda s, t: bson_document(b"\x10t\0" + struct.pack("<i", t)) + bson_document(b"") * (s // 5),
        "grow": bson_grow,
        "different_keys": bson_keys,
        "claim": lambda s, t: struct.pack("<i", 2**31 - 1) + bytes(s) + bytes([t]),
        "nested_arrays": lambda s, t: bson_nested(s // 8, t).replace(b"\3a\0", b"\4a\0"),
        "code_with_scope": lambda s, t: bson_document(b"\x0fa\0" + struct.pack("<i", s) + b"\0" * s + bytes([t])),
        "long_key": lambda s, t: bson_document(b"\x10" + b"k" * s + b"\0" + struct.pack("<i", t)),
        "equal_keys": lambda s, t: bson_document(b"\x10k\0" + struct.pack("<i", t) + b"\x10k\0\1\0\0\0" * (s // 7)),
        "unended_key": lambda s, t: struct.pack("<i", s) + b"\x10" + b"k" * s + bytes([t]),
        "regexes": lambda s, t: bson_document(b"\x10k\0" + struct.pack("<i", t) + b"\x0ba\0\0\0" * (s // 5)),
        "binary_claim": lambda s, t: bson_document(b"\5a\0\xff\xff\xff\x7f\0" + bytes(s) + bytes([t])),
    },
    "mat": {
        "packed": mat_packed,
        "packed_twice": lambda s, t: mat_packed(s, t, 2),
        "cells": mat_cells,
        "bytes": mat_bytes,
        "claim": lambda s, t: mat(mat_matrix(6, (2**30, 2**30), 9, bytes(8), b"v") + bytes([t])),
        "many": lambda s, t: mat(*[mat_matrix(6, (1, 1), 9, struct.pack("<d", t), b"v%d" % i) for i in range(s // 70)]),
    },
    "tfrecord": {
        "claim": lambda s, t: tfrecord(1 << 60, bytes(min(s, 1000)) + bytes([t])),
        "empty": lambda s, t: tfrecord(1, bytes([t])) + tfrecord(0, b"") * (s // 16),
        "features": lambda s, t: (lambda p: tfrecord(len(p), p))(b"".join(example(b"f%d" % i, field(3, field(1, bytes([t])))) for i in range(s // 30))),
        "empty_lists": lambda s, t: (lambda p: tfrecord(len(p), p))(example(b"t", field(3, field(1, bytes([t])))) + example(b"f", field(1, b"\x0a\0" * (s // 2)))),
        "nested": lambda s, t: (lambda p: tfrecord(len(p), p + bytes([t])[:0]))(nested_field(min(s // 3, 3000))) + tfrecord(1, bytes([t])),
        "long_name": lambda s, t: (lambda p: tfrecord(len(p), p))(example(b"n" * s, field(3, field(1, bytes([t]))))),
        "varints": lambda s, t: (lambda p: tfrecord(len(p), p))(b"\xff" * s + bytes([t])),
        "different": lambda s, t: b"".join((lambda p: tfrecord(len(p), p))(example(b"f%d" % i, field(3, field(1, bytes([t]))))) for i in range(s // 40)),
    },
    "wav": {
        "silence": lambda s, t: wav(s // 2, t),
        "claim": lambda s, t: wav(s // 2, t, 2**32 - 1),
        "channels": lambda s, t: wav(1, t, channels=65535, bits=8) if s > 60000 else wav(1, t, channels=s, bits=8),
        "empty": lambda s, t: wav(0, t, 0),
        "chunks": lambda s, t: wav_of(b"abcd\0\0\0\0" * (s // 8) + bytes([t])),
        "formats": lambda s, t: wav_of((b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)) * (s // 24) + bytes([t])),
        "repeated": lambda s, t: wav(8, t) + b"data\2\0\0\0\0\0" * (s // 10),
        "rate": lambda s, t: wav_of(b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 0, 0, 0, 0) + b"data" + struct.pack("<I", s) + bytes(s) + bytes([t])),
    },
    "xml": {
        "attributes": lambda s, t: b"<a>%d<b " % t + b"a='1' " * (s // 6) + b"/></a>",
        "different_tags": lambda s, t: b"<a>%d" % t + b"".join(b"<t%d>1</t%d>" % (i, i) for i in range(s // 14)) + b"</a>",
        "different_attributes": lambda s, t: b"<a>%d<b " % t + b"".join(b"a%d='1' " % i for i in range(s // 9)) + b"/></a>",
        "cdata": lambda s, t: b"<a>%d" % t + b"<![CDATA[x]]>" * (s // 13) + b"</a>",
        "brackets": lambda s, t: b"<" * s + b"%d" % t,
        "comments": lambda s, t: b"<a>%d" % t + b"<!--" * (s // 4),
        "processing": lambda s, t: b"<a>%d" % t + b"<?a?>" * (s // 5) + b"</a>",
        "unclosed_attribute": lambda s, t: b"<a b='%d" % t + b"<" * s,
        "long_tag": lambda s, t: b"<" + b"a" * s + b">%d" % t,
        "utf_16": lambda s, t: ("\ufeff<a>%d" % t + "<b/>" * (s // 8) + "</a>").encode("utf-16-le"),
        "references": lambda s, t: b"<a>%d" % t + b"&#x41;" * (s // 6) + b"</a>",
        "deep": lambda s, t: b"<a>" * (s // 7) + b"%d" % t + b"</a>" * (s // 7),
        "entities": lambda s, t: b'<!DOCTYPE a [<!ENTITY a "%d">' % t + b"".join(b'<!ENTITY a%d "&a;&a;&a;&a;&a;&a;&a;&a;">' % i for i in range(s // 60)) + b"]><a>&a;</a>",
    },
    "bin": {"zeros": lambda s, t: bytes(s) + b"%d" % t},
}
