"""Archives with unusual names, methods, headers and numbers of members."""

import bz2
import gzip
import io
import lzma
import struct
import subprocess
import tarfile
import zipfile
import zlib

from archives import sevenz, sparse_tar, tarred, zipped

RATIO = 1000  # the best compression ratio of deflate
LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"


def raw_zip(members, method=0, local=True, count=None, comment=b"", extra=b""):
    """Returns a zip of members (name, content as stored, unpacked content). Its records may be invalid."""
    out, directory = io.BytesIO(), io.BytesIO()
    members = list(members)
    for name, packed, plain in members:
        fields = struct.pack("<HHHIIIIHH", 20, 0, method, 0x50210000, zlib.crc32(plain), len(packed), len(plain), len(name), 0)
        at = out.tell() if local else 0
        if local:
            out.write(LOCAL + fields + name + packed)
        fields = struct.pack("<HHHIIIIHH", 20, 0, method, 0x50210000, zlib.crc32(plain), len(packed), len(plain), len(name), len(extra))
        directory.write(CENTRAL + b"\x14\3" + fields + struct.pack("<HHHII", len(comment), 0, 0, 0, at) + name + extra + comment)
    count = len(members) if count is None else count
    return out.getvalue() + directory.getvalue() + END + struct.pack("<HHHHIIH", 0, 0, count & 0xFFFF, count & 0xFFFF, directory.tell(), out.tell(), 0)


def names(form):
    """An archive with many members whose names have this form."""
    return lambda size, variant: raw_zip((form(i), b"%d" % variant, b"%d" % variant) for i in range(max(1, size // (100 + 2 * len(form(0))))))


def packed_directory(size, variant):
    """A zip archive inside a zip archive. The inner one has a directory that lists many members, but no content."""
    entry = CENTRAL + b"\x14\3" + struct.pack("<HHHIIIIHH", 20, 0, 0, 0, 0, 0, 0, 1, 0) + bytes(12 + 4) + b"a"
    entry = entry[:46] + b"a"
    count = min(size * RATIO // len(entry), 5_000_000)
    inner = b"%d" % variant + entry * count
    inner += END + struct.pack("<HHHHIIH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entry) * count, 1, 0)
    return zipped([("a.zip", inner)])


def many_ends(size, variant):
    """End records in a row: a reader that tries each of them reads the file again and again."""
    return b"%d" % variant + (END + bytes(18)) * (size // 22)


def zstd(content):
    return subprocess.run(["zstd", "-19", "-c"], input=content, capture_output=True, check=True).stdout


def zip_of(pack, method):
    def make(size, variant):
        plain = b"a,b\n%d,1\n" % variant + b"1,2\n" * (size * RATIO // 4)
        return raw_zip([(b"a.csv", pack(plain), plain)], method)

    return make


def lzma_member(plain):
    filters = [{"id": lzma.FILTER_LZMA1, "preset": 6}]
    raw = lzma.compress(plain, lzma.FORMAT_RAW, filters=filters)
    return b"\x09\4\5\0" + b"\x5d\0\0\x80\0" + raw


def pax(records, count=1, kind=b"x"):
    """A tar archive with extended headers before its only member."""
    header = tarfile.TarInfo("pax")
    header.type, header.size = kind, len(records)
    block = header.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % 512)
    return block * count + tarred([("a.csv", b"id\n1\n")])


def record(key, value):
    length = len(key) + len(value) + 3
    while length != len(b"%d %s=%s\n" % (length, key, value)):
        length = len(b"%d %s=%s\n" % (length, key, value))
    return b"%d %s=%s\n" % (length, key, value)


def links(size, variant):
    """Each member links to the one before it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for i in range(max(2, size * 50 // 512)):
            info = tarfile.TarInfo(f"{i}.csv")
            info.type, info.linkname = (tarfile.LNKTYPE if i % 2 else tarfile.SYMTYPE), f"{i - 1 + variant}.csv"
            archive.addfile(info)
    return gzip.compress(out.getvalue(), 9)


def deep_path(size, variant):
    return raw_zip([(b"d/" * 32_000 + b"a%d.csv" % (i + variant), b"1", b"1") for i in range(max(1, size // 128_100))])


def archives_of_all(levels):
    """A zip in a tar.gz in a 7z in a zip, and so on."""

    def make(size, variant):
        name, content = "a.csv", b"id,target\n3,%d\n" % variant + b"4,0\n" * size
        for level in range(levels):
            kind = ("zip", "tar.gz", "7z", "gz", "tar")[level % 5]
            content = {"zip": lambda: zipped([(name, content)]), "tar.gz": lambda: gzip.compress(tarred([(name, content)])), "7z": lambda: sevenz([(name, content)]), "gz": lambda: gzip.compress(content), "tar": lambda: tarred([(name, content)])}[kind]()
            name = name + ".gz" if kind == "gz" else "a." + kind
        return zipped([(name, content)])

    return make


def gz_bomb(size, variant):
    return gzip.compress(bytes(size * RATIO) + b"%d" % variant, 9)


def gz_head(flags, field):
    """A gzip header with a long optional field."""
    return lambda size, variant: b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + field(size) + zlib.compress(b"a\n%d\n" % variant)[2:-4] + struct.pack("<II", zlib.crc32(b"a\n%d\n" % variant), 4)


# Functions that make hostile files, by file name suffix and name. Their arguments are the approximate length of the file,
# and 0 or 1 for two variants of the file that differ in one value.
RECIPES = {
    "zip": {
        "one_name": lambda size, variant: raw_zip((b"a.csv", b"%d" % variant, b"%d" % variant) for _ in range(min(65_536, max(1, size // 110)))),
        "one_name_65536": lambda size, variant: zipped([("a.zip", raw_zip((b"a.csv", b"%d" % variant, b"%d" % variant) for _ in range(65_536)))]),
        "count_lie": lambda size, variant: raw_zip([(b"a.csv", b"%d" % variant, b"%d" % variant)], count=65_535),
        "no_records": lambda size, variant: raw_zip(((b"%d.csv" % i, b"%d" % variant, b"%d" % variant) for i in range(size // 60)), local=False),
        "packed_directory": packed_directory,
        "many_ends": many_ends,
        "long_comments": lambda size, variant: zipped([("a.zip", raw_zip(((b"%d.csv" % i, b"%d" % variant, b"%d" % variant) for i in range(size // 20)), comment=b"\x1b" * 65_000))]) if size <= 10_000 else raw_zip([(b"a", b"%d" % variant, b"%d" % variant)], comment=b"\x1b" * 65_000),
        "extra_fields": lambda size, variant: zipped([("a.zip", raw_zip(((b"%d.csv" % i, b"%d" % variant, b"%d" % variant) for i in range(min(size, 2000))), extra=b"\x77\x77\0\0" * 16_000))]),
        "names_of_255": names(lambda i: b"%06d" % i + b"n" * 249),
        "names_of_65535": names(lambda i: b"%06d" % i + b"n" * 65_529),
        "invalid_names": names(lambda i: b"\xff\xfe\xc0%d.csv" % i),
        "names_with_newlines": names(lambda i: b"a\nb\r\x1b[2J%d.csv" % i),
        "names_with_nul": names(lambda i: b"a\0%d.csv" % i),
        "names_of_dots": names(lambda i: b"./" * (i % 50) + b"%d.csv" % i),
        "file_and_directory": lambda size, variant: raw_zip(((name, b"", b"") for i in range(size // 250) for name in (b"%d" % i, b"%d/a" % i)), 0),
        "cases": names(lambda i: bytes(97 - 32 * (i >> k & 1) for k in range(16)) + b".csv"),
        "deep_path": deep_path,
        "bzip2": zip_of(bz2.compress, 12),
        "lzma": zip_of(lzma_member, 14),
        "zstd": zip_of(zstd, 93),
        "xz": zip_of(lzma.compress, 95),
        "unknown_method": zip_of(zlib.compress, 77),
        "all_kinds_5": archives_of_all(5),
        "all_kinds_20": archives_of_all(20),
        "ods": lambda size, variant: zipped([("a.ods", zipped([("content.xml", b"<a>%d" % variant + b"<b>" * (size * 300))]))]),
        "npz": lambda size, variant: zipped([("a.npz", zipped([("%d.npy" % i, b"\x93NUMPY%d" % variant) for i in range(size // 10)]))]),
        "docx": lambda size, variant: zipped([("a.docx", zipped([("word/document.xml", b"<a>%d" % variant + b"<b/>" * (size * 200))]))]),
        "bz2_member": lambda size, variant: zipped([("a.csv.bz2", bz2.compress(bytes(size * RATIO * 10) + b"%d" % variant))]),
        "xz_member": lambda size, variant: zipped([("a.tar.xz", lzma.compress(bytes(size * RATIO) + b"%d" % variant))]),
        "zst_member": lambda size, variant: zipped([("a.csv.zst", zstd(bytes(size * RATIO) + b"%d" % variant))]),
        "gz_members": lambda size, variant: zipped([("a.csv.gz", gzip.compress(b"id\n%d\n" % variant) + gzip.compress(b"") * (size * 20))]),
        "gz_members_text": lambda size, variant: zipped([("a.csv.gz", gzip.compress(b"id\n%d\n" % variant) + gzip.compress(b"1\n") * (size * 15))]),
        "tgz_members": lambda size, variant: zipped([("a.tar.gz", b"".join(gzip.compress(bytes([b])) for b in tarred([("a.csv", b"id\n%d\n" % variant)])) + gzip.compress(b"\0") * (size * 10))]),
        "pax_comment": lambda size, variant: zipped([("a.tar", pax(record(b"comment", b"%d" % variant + b"x" * (size * 500))))]),
        "pax_path": lambda size, variant: zipped([("a.tar", pax(record(b"path", b"%d" % variant + b"x" * (size * 500))))]),
        "pax_records": lambda size, variant: zipped([("a.tar", pax(record(b"k", b"%d" % variant) * (size * 60)))]),
        "pax_headers": lambda size, variant: zipped([("a.tar", pax(record(b"path", b"%d" % variant), size // 2 or 1))]),
        "pax_global": lambda size, variant: zipped([("a.tar", pax(record(b"path", b"%d" % variant), size // 2 or 1, b"g"))]),
        "pax_size": lambda size, variant: zipped([("a.tar", pax(record(b"size", b"9" * 18 + b"%d" % variant)))]),
        "pax_sparse": lambda size, variant: zipped([("a.tar", pax(record(b"GNU.sparse.map", b"0,0," * (size * 100) + b"%d" % variant) + record(b"GNU.sparse.size", b"9" * 15)))]),
        "long_name": lambda size, variant: zipped([("a.tar", pax(b"%d" % variant + b"n" * (size * 500), 1, b"L"))]),
        "long_link": lambda size, variant: zipped([("a.tar", pax(b"%d" % variant + b"n" * (size * 500), 1, b"K"))]),
        "sparse_in_tgz": lambda size, variant: zipped([("a.tar.gz", gzip.compress(sparse_tar(size, variant)))]),
    },
    "tgz": {
        "many_members": lambda size, variant: gzip.compress((tarred([("%d.csv" % variant, b"")])[:512]) * min(size * 20, 4_000_000) + bytes(1024), 9),
        "links": links,
        "end_only": lambda size, variant: gzip.compress(bytes(size * RATIO) + b"%d" % variant, 9),
        "garbage_after": lambda size, variant: gzip.compress(tarred([("a.csv", b"%d" % variant)])) + b"x" * size,
    },
    "gz": {
        "long_extra": gz_head(4, lambda s: struct.pack("<H", min(s, 65535)) + b"x" * min(s, 65535)),
        "long_name": gz_head(8, lambda s: b"n" * s + b"\0"),
        "long_comment": gz_head(16, lambda s: b"n" * s + b"\0"),
        "unended_name": gz_head(8, lambda s: b"n" * s),
    },
    "csv.gz": {
        "members": lambda size, variant: gzip.compress(b"id,target\n3,%d\n" % variant) + gzip.compress(b"4,0\n") * (size // 24),
        "line": lambda size, variant: gzip.compress(b"id,target\n3,%d" % variant + b"x" * (size * RATIO), 9),
        "header": lambda size, variant: gzip.compress(b"%d" % variant + b"x," * (size * RATIO // 2) + b"\n1\n", 9),
        "nul": gz_bomb,
    },
    "json.gz": {
        "lists": lambda size, variant: gzip.compress(b"[%d" % variant + b",[]" * (size * RATIO // 3) + b"]", 9),
        "deep": lambda size, variant: gzip.compress(b"%d" % variant + b"[" * (size * RATIO), 9),
    },
    "csv.bz2": {"zeros": lambda size, variant: bz2.compress(bytes(size * RATIO * 10) + b"%d" % variant)},
    "csv.xz": {"zeros": lambda size, variant: lzma.compress(bytes(size * RATIO) + b"%d" % variant)},
    "csv.zst": {"zeros": lambda size, variant: zstd(bytes(size * RATIO) + b"%d" % variant)},
    "tar.xz": {"zeros": lambda size, variant: lzma.compress(tarred([("a.csv", bytes(size * RATIO) + b"%d" % variant)]))},
    "tar.bz2": {"zeros": lambda size, variant: bz2.compress(tarred([("a.csv", bytes(size * RATIO) + b"%d" % variant)]))},
    "7z": {
        "directories": lambda size, variant: sevenz([("d" * 200 + f"/{i}{variant}", b"") for i in range(min(size // 30, 3000))]),
        "xz_in_7z": lambda size, variant: sevenz([("a.csv.gz", gz_bomb(size, variant))]),
    },
}
