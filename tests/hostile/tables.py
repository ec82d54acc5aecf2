"""Tables and records whose memory or time could exceed what their length suggests."""

import io
import json
import struct
import zlib


def lines(first, line, size):
    return first + line * (size // len(line))


def columns(size, variant):
    """Half of the bytes is the header, the other half short rows."""
    count = size // 8
    return ",".join(f"c{i}" for i in range(count)).encode()[: size // 2] + b"\n%d\n" % variant + b"1\n" * (size // 4)


def different_keys(size, variant):
    out = [f'{{"t": {variant}}}']
    while sum(map(len, out)) < size and len(out) < 9000:
        out.append(f'{{"k{len(out)}": 1}}')
    return out


def keys_grow(size, variant):
    """Each record has all keys of the record before it, and one more."""
    out, total, i = [f'{{"t": {variant}}}'], 0, 1
    while total < size:
        out.append("{" + ",".join(f'"{k}":1' for k in range(i)) + "}")
        total += len(out[-1])
        i += 1
    return out


def joined(records):
    return ("[" + ",".join(records) + "]").encode()


def json_lines(records):
    return "\n".join(records).encode() + b"\n"


def npy(shape, descr="'<f8'", data=b"", variant=0):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data + bytes([variant])


def parquet(table, **options):
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def parquet_of(columns, **options):
    import pyarrow as pa

    return parquet(pa.table(columns), **options)


def pq_strings(size, variant, rows=1_000_000, compression="zstd"):
    import pyarrow as pa

    words = pa.array(["x" * (size * 2 if compression == "zstd" else size // 2), f"t{variant}"])
    codes = pa.array([1] + [0] * (rows - 1), pa.int32())
    return parquet_of({"a": pa.DictionaryArray.from_arrays(codes, words)}, compression=compression)


def pq_plain_strings(size, variant):
    return parquet_of({"a": [f"t{variant}"] + ["x" * 1000] * (size * 9 // 10)}, use_dictionary=False, compression="zstd")


def pq_nulls(size, variant):
    import pyarrow as pa

    return parquet_of({"a": pa.array([variant] + [None] * (size * 90), pa.int64())})


def pq_zeros(size, variant):
    import numpy as np

    values = np.zeros(size * 140)
    values[0] = variant
    return parquet_of({"a": values}, compression="zstd", use_dictionary=False)


def pq_wide(size, variant):
    count = max(1, size // 300)
    return parquet_of({f"c{i}": [variant, 1] for i in range(count)})


def pq_wide_long(size, variant):
    import numpy as np

    count = max(1, size // 300)
    return parquet_of({f"c{i}": np.full(100_000, variant if i == 0 else 1, np.int8) for i in range(count)})


def pq_lists(size, variant):
    import pyarrow as pa

    return parquet_of({"a": pa.array([[variant] * 10] + [[1] * 100_000] * max(1, size // 500), pa.list_(pa.int8()))}, compression="zstd")


def pq_nested(size, variant, levels=80):
    import pyarrow as pa

    kind, value = pa.int8(), variant
    for _ in range(levels):
        kind, value = pa.list_(kind), [value]
    return parquet_of({"a": pa.array([value] * (size // 10), kind)})


def pq_deep(size, variant):
    """A column inside of as many groups as fit into the file."""
    levels = size // 7
    count, length = levels + 2, b""
    while count >= 128:
        length += bytes([count & 127 | 128])
        count >>= 7
    footer = b"\x15\x02\x19\xfc" + length + bytes([count])
    footer += b"\x48\x01a\x15\x02\0" + b"\x35\x02\x18\x01a\x15\x02\0" * levels + b"\x15\x02\x25\x02\x18\x01" + bytes([97 + variant]) + b"\0"
    footer += b"\x16\0\x19\x0c\0"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def pq_groups(size, variant):
    import pyarrow as pa

    return parquet(pa.table({"a": [variant] + [1] * (size // 350)}), row_group_size=1)


def bson_document(elements):
    return struct.pack("<i", len(elements) + 5) + elements + b"\0"


def bson_nested(levels, variant):
    content = bson_document(b"\x10t\0" + struct.pack("<i", variant))
    for _ in range(levels):
        content = bson_document(b"\3a\0" + content)
    return content


def bson_grow(size, variant):
    out, i = bson_document(b"\x10t\0" + struct.pack("<i", variant)), 0
    while len(out) < size:
        out += bson_document(b"".join(b"\x10%d\0\1\0\0\0" % k for k in range(i)))
        i += 1
    return out


def bson_keys(size, variant):
    out, parts = bson_document(b"\x10t\0" + struct.pack("<i", variant)), []
    for i in range(size // 18):
        parts.append(bson_document(b"\x10%d\0\1\0\0\0" % i))
    return out + b"".join(parts)


def mat_element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def mat_matrix(cls, dims, data_type, data, name=b"v"):
    return mat_element(14, mat_element(6, struct.pack("<II", cls, 0)) + mat_element(5, struct.pack(f"<{len(dims)}i", *dims)) + mat_element(1, name) + (mat_element(data_type, data) if data is not None else b""))


def mat(*elements):
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def mat_packed(size, variant, levels=1):
    element = mat_matrix(6, (size * 100, 1), 9, bytes(size * 800 - 1) + bytes([variant]))
    for _ in range(levels):
        element = mat_compressed(element)
    return mat(element)


def mat_compressed(element):
    packed = zlib.compress(element, 9)
    return struct.pack("<II", 15, len(packed)) + packed


def mat_cells(size, variant):
    count = size * 5
    head = mat_element(6, struct.pack("<II", 1, 0)) + mat_element(5, struct.pack("<ii", count, 1)) + mat_element(1, b"v")
    cells = mat_matrix(6, (1, 1), 9, struct.pack("<d", variant), b"") + mat_matrix(6, (1, 1), 9, bytes(8), b"") * (count - 1)
    return mat(mat_compressed(mat_element(14, head + cells)))


def mat_bytes(size, variant):
    """Doubles stored as bytes."""
    element = mat_matrix(6, (size * 900, 1), 2, bytes(size * 900 - 1) + bytes([variant]))
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


def wav(frames, variant, claim=None, channels=1, bits=16):
    data = bytes(max(0, frames * channels * bits // 8 - 1)) + bytes([variant])
    size = len(data) if claim is None else claim
    return b"RIFF" + struct.pack("<I", 36 + size & 0xFFFFFFFF) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, 16000, 32000, channels * bits // 8, bits) + b"data" + struct.pack("<I", size & 0xFFFFFFFF) + data


def npy_version(version, header, variant):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes([variant])


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


# Functions that make hostile files, by file name suffix and name. Their arguments are the approximate length of the file,
# and 0 or 1 for two variants of the file that differ in one value.
RECIPES = {
    "xlsx": {
        "far_cells": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row><c r='XFD1048576'><v>%d</v></c></row>" % variant * (size * 8)))]),
        "far_rows": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row r='1048576'><c r='ZZZZZZZ4294967295'><v>%d</v></c></row>" % variant * (size * 8)))]),
        "empty_cells": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row>" + b"<c/>" * (size * 200) + b"<c><v>%d</v></c></row>" % variant))]),
        "empty_rows": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row/>" * (size * 150) + b"<row><c><v>%d</v></c></row>" % variant))]),
        "wide_then_long": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row>" + b"<c><v>%d</v></c>" % variant * (size * 2) + b"</row>" + b"<row><c><v>1</v></c></row>" * (size * 10)))]),
        "sheets": lambda size, variant: book([(f"worksheets/sheet{i}.xml", sheet(b"<row><c><v>%d</v></c></row>" % variant)) for i in range(size // 150)]),
        "strings": lambda size, variant: book([("sharedStrings.xml", b"<sst>" + b"<si><t/></si>" * (size * 70) + b"</sst>"), ("worksheets/sheet1.xml", sheet(b"<row><c t='s'><v>%d</v></c></row>" % variant))]),
        "index": lambda size, variant: book([("sharedStrings.xml", b"<sst/>"), ("worksheets/sheet1.xml", sheet(b"<row><c t='s'><v>18446744073709551615</v></c><c><v>%d</v></c></row>" % variant * (size * 8)))]),
        "runs": lambda size, variant: book([("sharedStrings.xml", b"<sst><si>" + b"<r><t>x</t></r>" * (size * 60) + b"</si></sst>"), ("worksheets/sheet1.xml", sheet(b"<row><c t='s'><v>0</v></c></row>" * (size * 20) + b"%d" % variant))]),
        "deep": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row>" * (size * 100) + b"%d" % variant))]),
        "inline": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row><c t='inlineStr'><is><t>" + b"x" * (size * 500) + b"%d</t></is></c></row>" % variant))]),
        "attributes": lambda size, variant: book([("worksheets/sheet1.xml", sheet(b"<row " + b"a='1' " * (size * 100) + b"><c><v>%d</v></c></row>" % variant))]),
    },
    "csv": {
        "columns": columns,
        "wide_rows": lambda size, variant: b",".join([b"c"] * (size // 4)) + b"\n%d" % variant + b"," * (size // 2) + b"\n",
        "one_line": lambda size, variant: b"a" * size + b"%d" % variant,
        "quotes": lambda size, variant: b'a\n"%d' % variant + b'""' * (size // 2),
        "newlines": lambda size, variant: b"a\n%d" % variant + b"\n" * size,
        "short_rows": lambda size, variant: lines(b"a\n%d\n" % variant, b"1\n", size),
        "equal_rows": lambda size, variant: lines(b"a,b\n%d,1\n" % variant, b"0,0\n", size),
        "zeros": lambda size, variant: b"a\n%d\n" % variant + bytes(size),
        "long_numbers": lambda size, variant: b"a\n%d\n" % variant + (b"9" * (size // 2) + b"\n") * 2,
        "exponents": lambda size, variant: lines(b"a\n%d\n" % variant, b"1e999999999\n", size),
        "unclosed": lambda size, variant: b'a,b\n%d,"' % variant + b"x\n" * (size // 2),
        "lists": lambda size, variant: lines(b"id,a\n%d,1\n" % variant, b'1,"[[[[[[1, 2]]]]]]"\n', size),
        "deep_list": lambda size, variant: b'id,a\n%d,1\n1,"' % variant + b"[" * (size // 2) + b"]" * (size // 2) + b'"\n',
        "dates": lambda size, variant: lines(b"id,d\n%d,1\n" % variant, b"1,99999-99-99 99:99\n", size),
        "unique": lambda size, variant: b"id,a,b\n%d,1,1\n" % variant + b"".join(b"%d,%d,x\n" % (i, i * 7919 % 9973) for i in range(size // 12)),
        "spaces": lambda size, variant: b"id,a\n%d,1\n1,%sx\n" % (variant, b" a" * (size // 2)),
        "two_words": lambda size, variant: b"id,a\n%d,1\n" % variant + b"".join(b"%d,%s\n" % (i, b"ab " * 300) for i in range(size // 1000)),
    },
    "txt": {
        "newlines": lambda size, variant: b"%d" % variant + b"\n" * size,
        "one_line": lambda size, variant: b"%d" % variant + b"a b " * (size // 4),
        "short_lines": lambda size, variant: lines(b"%d\n" % variant, b"a\n", size),
        "zeros": lambda size, variant: bytes(size) + b"%d" % variant,
        "markup": lambda size, variant: b"%d" % variant + b"<a><" * (size // 4),
    },
    "json": {
        "deep": lambda size, variant: b"[" * (size // 2) + b"%d" % variant + b"]" * (size // 2),
        "deep_objects": lambda size, variant: b'{"a":' * (size // 6) + b"%d" % variant + b"}" * (size // 6),
        "empty_objects": lambda size, variant: joined([f'{{"t":{variant}}}'] + ["{}"] * (size // 3)),
        "empty_lists": lambda size, variant: joined([f"[{variant}]"] + ["[]"] * (size // 3)),
        "different_keys": lambda size, variant: joined(different_keys(size, variant)),
        "keys_grow": lambda size, variant: joined(keys_grow(size, variant)),
        "digits": lambda size, variant: b"[%d, " % variant + b"9" * size + b"]",
        "fraction": lambda size, variant: b"[%d, 0." % variant + b"9" * size + b"]",
        "escapes": lambda size, variant: b'["%d", "' % variant + b"\\u0000" * (size // 6) + b'"]',
        "equal_keys": lambda size, variant: b"{" + b",".join(b'"a":%d' % (i * variant) for i in range(size // 8)) + b"}",
        "many_keys": lambda size, variant: b"{" + b",".join(b'"%d":%d' % (i, variant) for i in range(size // 10)) + b"}",
        "lists_of_records": lambda size, variant: b"{" + b",".join(b'"%d":[{"a":%d}]' % (i, variant) for i in range(size // 18)) + b"}",
        "unclosed": lambda size, variant: b"[%d," % variant + b'{"a":[' * (size // 6),
    },
    "jsonl": {
        "short": lambda size, variant: lines(b'{"a":%d}\n' % variant, b"{}\n", size),
        "numbers": lambda size, variant: lines(b"%d\n" % variant, b"1\n", size),
        "different_keys": lambda size, variant: json_lines(different_keys(size, variant)),
        "keys_grow": lambda size, variant: json_lines(keys_grow(size, variant)),
        "deep": lambda size, variant: b'{"t":%d}\n{"a":' % variant + b"[" * (size // 2) + b"]" * (size // 2) + b"}\n",
        "nested_lists": lambda size, variant: lines(b'{"a":[%d]}\n' % variant, b'{"a":[[],[],[]]}\n', size),
    },
    "npy": {
        "claim": lambda size, variant: npy("(1000000000000,)", data=bytes(size), variant=variant),
        "no_width": lambda size, variant: npy("(1000000000000, 0)", variant=variant),
        "zero_itemsize": lambda size, variant: npy("(10000000,)", "'|S0'", variant=variant),
        "bytes_wide": lambda size, variant: npy(f"(1, {size})", "'|u1'", bytes(size - 1), variant),
        "bytes_tall": lambda size, variant: npy(f"({size},)", "'|u1'", bytes(size - 1), variant),
        "structured": lambda size, variant: npy("(1,)", "[" + ", ".join(f"('f{i}', '<f8')" for i in range(min(size, 50_000) // 20)) + "]", bytes(80), variant),
        "objects": lambda size, variant: npy(f"({size},)", "'|O'", bytes(size), variant),
        "dims": lambda size, variant: npy("(" + "1, " * min(size // 3, 20000) + ")", "'|u1'", b"", variant),
        "long_header": lambda size, variant: npy_version(2, b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" + b" " * size + b"\n", variant),
        "header_claim": lambda size, variant: b"\x93NUMPY\3\0\xff\xff\xff\xff" + b" " * size + bytes([variant]),
        "keys_2": lambda size, variant: npy_version(2, b"{" + b"'descr': '<f8', " * (size // 16) + b"}\n", variant),
        "literal_2": lambda size, variant: npy_version(2, b"{'shape': " + b"(" * (size // 2) + b"1," * (size // 4), variant),
        "text_2": lambda size, variant: npy_version(2, b"{'descr': '" + b"<" * size + b"'}\n", variant),
        "numbers_2": lambda size, variant: npy_version(2, b"{'shape': (" + b"9" * size + b",)}\n", variant),
        "unicode_wide": lambda size, variant: npy("(1,)", f"'<U{size * 1000}'", bytes(size), variant),
        "minus": lambda size, variant: npy("(-1, -1)", "'<f8'", bytes(size), variant),
        "subarrays": lambda size, variant: npy("(1,)", "[('a', " * min(size // 8, 5000) + "'<f8'" + ")]" * min(size // 8, 5000), bytes(80), variant),
        "literal": lambda size, variant: npy("(" * min(size // 2, 30000) + ")" * min(size // 2, 30000), "'|u1'", b"", variant),
    },
    "parquet": {
        "big_strings": pq_strings,
        "big_strings_plain": lambda size, variant: pq_strings(size, variant, compression="none"),
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
        "nested": lambda size, variant: bson_nested(size // 8, variant),
        "empty": lambda size, variant: bson_document(b"\x10t\0" + struct.pack("<i", variant)) + bson_document(b"") * (size // 5),
        "grow": bson_grow,
        "different_keys": bson_keys,
        "claim": lambda size, variant: struct.pack("<i", 2**31 - 1) + bytes(size) + bytes([variant]),
        "nested_arrays": lambda size, variant: bson_nested(size // 8, variant).replace(b"\3a\0", b"\4a\0"),
        "code_with_scope": lambda size, variant: bson_document(b"\x0fa\0" + struct.pack("<i", size) + b"\0" * size + bytes([variant])),
        "long_key": lambda size, variant: bson_document(b"\x10" + b"k" * size + b"\0" + struct.pack("<i", variant)),
        "equal_keys": lambda size, variant: bson_document(b"\x10k\0" + struct.pack("<i", variant) + b"\x10k\0\1\0\0\0" * (size // 7)),
        "unended_key": lambda size, variant: struct.pack("<i", size) + b"\x10" + b"k" * size + bytes([variant]),
        "regexes": lambda size, variant: bson_document(b"\x10k\0" + struct.pack("<i", variant) + b"\x0ba\0\0\0" * (size // 5)),
        "binary_claim": lambda size, variant: bson_document(b"\5a\0\xff\xff\xff\x7f\0" + bytes(size) + bytes([variant])),
    },
    "mat": {
        "packed": mat_packed,
        "packed_twice": lambda size, variant: mat_packed(size, variant, 2),
        "cells": mat_cells,
        "bytes": mat_bytes,
        "claim": lambda size, variant: mat(mat_matrix(6, (2**30, 2**30), 9, bytes(8), b"v") + bytes([variant])),
        "many": lambda size, variant: mat(*[mat_matrix(6, (1, 1), 9, struct.pack("<d", variant), b"v%d" % i) for i in range(size // 70)]),
    },
    "tfrecord": {
        "claim": lambda size, variant: tfrecord(1 << 60, bytes(min(size, 1000)) + bytes([variant])),
        "empty": lambda size, variant: tfrecord(1, bytes([variant])) + tfrecord(0, b"") * (size // 16),
        "features": lambda size, variant: (lambda p: tfrecord(len(p), p))(b"".join(example(b"f%d" % i, field(3, field(1, bytes([variant])))) for i in range(size // 30))),
        "empty_lists": lambda size, variant: (lambda p: tfrecord(len(p), p))(example(b"t", field(3, field(1, bytes([variant])))) + example(b"f", field(1, b"\x0a\0" * (size // 2)))),
        "nested": lambda size, variant: (lambda p: tfrecord(len(p), p + bytes([variant])[:0]))(nested_field(min(size // 3, 3000))) + tfrecord(1, bytes([variant])),
        "long_name": lambda size, variant: (lambda p: tfrecord(len(p), p))(example(b"n" * size, field(3, field(1, bytes([variant]))))),
        "varints": lambda size, variant: (lambda p: tfrecord(len(p), p))(b"\xff" * size + bytes([variant])),
        "different": lambda size, variant: b"".join((lambda p: tfrecord(len(p), p))(example(b"f%d" % i, field(3, field(1, bytes([variant]))))) for i in range(size // 40)),
    },
    "wav": {
        "silence": lambda size, variant: wav(size // 2, variant),
        "claim": lambda size, variant: wav(size // 2, variant, 2**32 - 1),
        "channels": lambda size, variant: wav(1, variant, channels=65535, bits=8) if size > 60000 else wav(1, variant, channels=size, bits=8),
        "empty": lambda size, variant: wav(0, variant, 0),
        "chunks": lambda size, variant: wav_of(b"abcd\0\0\0\0" * (size // 8) + bytes([variant])),
        "formats": lambda size, variant: wav_of((b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)) * (size // 24) + bytes([variant])),
        "repeated": lambda size, variant: wav(8, variant) + b"data\2\0\0\0\0\0" * (size // 10),
        "rate": lambda size, variant: wav_of(b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 0, 0, 0, 0) + b"data" + struct.pack("<I", size) + bytes(size) + bytes([variant])),
    },
    "xml": {
        "attributes": lambda size, variant: b"<a>%d<b " % variant + b"a='1' " * (size // 6) + b"/></a>",
        "different_tags": lambda size, variant: b"<a>%d" % variant + b"".join(b"<t%d>1</t%d>" % (i, i) for i in range(size // 14)) + b"</a>",
        "different_attributes": lambda size, variant: b"<a>%d<b " % variant + b"".join(b"a%d='1' " % i for i in range(size // 9)) + b"/></a>",
        "cdata": lambda size, variant: b"<a>%d" % variant + b"<![CDATA[x]]>" * (size // 13) + b"</a>",
        "brackets": lambda size, variant: b"<" * size + b"%d" % variant,
        "comments": lambda size, variant: b"<a>%d" % variant + b"<!--" * (size // 4),
        "processing": lambda size, variant: b"<a>%d" % variant + b"<?a?>" * (size // 5) + b"</a>",
        "unclosed_attribute": lambda size, variant: b"<a b='%d" % variant + b"<" * size,
        "long_tag": lambda size, variant: b"<" + b"a" * size + b">%d" % variant,
        "utf_16": lambda size, variant: ("\ufeff<a>%d" % variant + "<b/>" * (size // 8) + "</a>").encode("utf-16-le"),
        "references": lambda size, variant: b"<a>%d" % variant + b"&#x41;" * (size // 6) + b"</a>",
        "deep": lambda size, variant: b"<a>" * (size // 7) + b"%d" % variant + b"</a>" * (size // 7),
        "entities": lambda size, variant: b'<!DOCTYPE a [<!ENTITY a "%d">' % variant + b"".join(b'<!ENTITY a%d "&a;&a;&a;&a;&a;&a;&a;&a;">' % i for i in range(size // 60)) + b"]><a>&a;</a>",
    },
    "bin": {"zeros": lambda size, variant: bytes(size) + b"%d" % variant},
}
