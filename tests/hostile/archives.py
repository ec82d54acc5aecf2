"""Archives that declare, contain or repeat more than their length suggests."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib

RATIO = 1000  # the best ratio of deflate


def zipped(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=9) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, method)
    return out.getvalue()


def tarred(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def tree(width, levels, leaf, pack=zipped, name="a{}.zip"):
    """Archives in archives: each level has `width` equal members."""
    content = leaf
    for level in range(levels):
        ending = name if level else "{}.csv"
        content = pack([(ending.format(i), content) for i in range(width)])
    return content


def zip_overlapping(size, twist):
    """Every entry of the directory describes the same member."""
    data = zlib.compress(b"a,b\n" + b"%d,1\n" % twist + b"1,2\n" * (size * 5), 9)[2:-4]
    plain = b"a,b\n" + b"%d,1\n" % twist + b"1,2\n" * (size * 5)
    crc = zlib.crc32(plain)

    def fields(name):
        return (20).to_bytes(2, "little") + b"\0\0\x08\0\0\0\x21\x50" + crc.to_bytes(4, "little") + len(data).to_bytes(4, "little") + len(plain).to_bytes(4, "little") + len(name).to_bytes(2, "little") + b"\0\0"

    out = b"PK\3\4" + fields(b"x.csv") + b"x.csv" + data
    directory = b""
    count = size // 60
    for i in range(count):
        name = b"%05d.csv" % i
        directory += b"PK\1\2\x14\3" + fields(name) + b"\0" * 12 + b"\0" * 4 + name
    end = b"PK\5\6\0\0\0\0" + count.to_bytes(2, "little") * 2 + len(directory).to_bytes(4, "little") + len(out).to_bytes(4, "little") + b"\0\0"
    return out + directory + end


def sparse_tar(size, twist):
    header = bytearray(512)
    for at, text in [(0, b"a.csv"), (100, b"0000644\0"), (124, b"00000000000\0"), (136, b"00000000000\0"), (148, b" " * 8), (156, b"S"), (257, b"ustar  \0"), (386, bytes([128, 0, 0, 0, 0, 0, 1 + twist, 0, 0, 0, 0, 0])), (398, b"00000000000\0"), (483, bytes([128, 0, 0, 0, 0, 0, 1 + twist, 0, 0, 0, 0, 0]))]:
        header[at : at + len(text)] = text
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def sevenz(members, **options):
    import py7zr

    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", **options) as archive:
        for name, content in members:
            archive.writestr(content, name)
    return out.getvalue()


def many(count, name="{}.csv", content=lambda i: b""):
    return [(name.format(i), content(i)) for i in range(count)]


def small(twist):
    return lambda i: b"%d" % (twist if i == 0 else 0)


def nested_sevenz(size, twist):
    content = bytes(size * RATIO) + b"%d" % twist
    for level in range(3):
        content = sevenz([("a.7z" if level else "a.csv", content)])
    return content


def workbook(size, twist):
    """Every cell refers to one long text."""
    shared = "<sst><si><t>%d%s</t></si></sst>" % (twist, "x" * (size * 300))
    cells = "<sheetData>%s</sheetData>" % ('<row><c t="s"><v>0</v></c></row>' * (size * 10))
    return zipped([("xl/sharedStrings.xml", shared.encode()), ("xl/worksheets/sheet1.xml", cells.encode())])


def markup(size, twist):
    """Elements with long names in each other, the innermost with many attributes."""
    name = "t" * 1000
    attributes = "".join(f' a{i}="{i}"' for i in range(200))
    block = f"<{name}>" * 60 + f"<b{attributes}/>{twist}" + f"</{name}>" * 60
    return zipped([("a.xml", block.encode() * (size * RATIO // 10 // len(block)))])


def text_chunks(size, twist):
    chunk = b"\0\0\0\1tEXta\0\0\0\0"
    return zipped([("a.png", b"\x89PNG\r\n\x1a\n" + chunk * (size * 500 // len(chunk)) + b"%d" % twist)])


def long_end(size, twist):
    """After the last member, the archive unpacks to much more. The outer zip compresses the compressed zeros again."""
    zeros = gzip.compress(bytes(1 << 24), 9)
    return zipped([("x.tar.gz", gzip.compress(tarred([("a.csv", b"%d" % twist)])) + zeros * (size // 25))])


def checkerboard(size, twist):
    side = int((size * RATIO) ** 0.5) | 1
    header = b"{'descr': '|b1', 'fortran_order': False, 'shape': (%d, %d), }" % (side, side)
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + (b"\0\1" * (side * side))[: side * side - 1]
    return zipped([("a.npy", array + bytes([twist]))])


RECIPES = {
    "xlsx": {"shared_text": workbook},
    "zip": {
        "markup": markup,
        "text_chunks": text_chunks,
        "long_end": long_end,
        "checkerboard": checkerboard,
        "long_header": lambda s, t: zipped([("a.csv", b"%d" % t + b"x" * (s * RATIO) + b"\n1\n")]),
        "empty_members": lambda s, t: zipped(many(s // 90) + [("t.csv", b"%d" % t)], zipfile.ZIP_STORED),
        "small_members": lambda s, t: zipped(many(s // 90, content=small(t)), zipfile.ZIP_STORED),
        "equal_names": lambda s, t: zipped([("a.csv", b"%d" % (i * t)) for i in range(s // 100)], zipfile.ZIP_STORED),
        "zeros": lambda s, t: zipped([("a.bin", bytes(s * RATIO) + b"%d" % t)]),
        "text": lambda s, t: zipped([("a.csv", b"a,b\n%d,1\n" % t + b"1,2\n" * (s * 150))]),
        "json_lines": lambda s, t: zipped([("a.jsonl", b'{"a": %d}\n' % t + b'{"a": 1}\n' * (s * 60))]),
        "zip_of_empties": lambda s, t: zipped([("a%d.zip" % i, zipped(many(s // 15) + [("x", b"%d" % (t + i))], zipfile.ZIP_STORED)) for i in range(2)]),
        "width_2": lambda s, t: tree(2, 8, b"%d" % t),
        "width_3": lambda s, t: tree(3, 7, b"%d" % t),
        "width_10": lambda s, t: tree(10, 4, b"a,b\n%d" % t),
        "width_30": lambda s, t: tree(30, 3, b"a,b\n%d" % t + b"1,2\n" * s),
        "stored_8": lambda s, t: tree(1, 8, b"a,b\n%d" % t, lambda m: zipped(m, zipfile.ZIP_STORED)),
        "stored_5000": lambda s, t: tree(1, s // 110, b"a,b\n%d" % t, lambda m: zipped(m, zipfile.ZIP_STORED)),
        "long_names": lambda s, t: zipped([("%05d" % i + "d/" * 20_000 + "x.csv", b"%d" % t) for i in range(max(1, s // 80_100))]),
        "overlapping": zip_overlapping,
    },
    "tar": {
        "empty_members": lambda s, t: tarred(many(s // 512) + [("t.csv", b"%d" % t)]),
        "sparse": sparse_tar,
        "nested_tars": lambda s, t: tree(1, 12, b"%d" % t, tarred, "a{}.tar"),
    },
    "tgz": {
        "empty_members": lambda s, t: gzip.compress(tarred(many(s // 5) + [("t.csv", b"%d" % t)]), 9),
        "small_members": lambda s, t: gzip.compress(tarred(many(s // 6, content=small(t))), 9),
        "zip_of_zips": lambda s, t: gzip.compress(tarred([("a.zip", tree(6, 5, b"a,b\n%d" % t))]), 9),
        "wide_zips": lambda s, t: gzip.compress(tarred([("a.zip", tree(40, 3, b"a,b\n%d" % t, lambda m: zipped(m, zipfile.ZIP_STORED)))]), 9),
        "tars": lambda s, t: gzip.compress(tree(3, 6, b"%d" % t, lambda m: gzip.compress(tarred(m), 9), "a{}.tgz"), 9),
        "zeros": lambda s, t: gzip.compress(tarred([("a.bin", bytes(s * RATIO) + b"%d" % t)]), 9),
    },
    "gz": {
        "zeros": lambda s, t: gzip.compress(bytes(s * RATIO) + b"%d" % t, 9),
        "twice": lambda s, t: gzip.compress(gzip.compress(bytes(s * RATIO * 4) + b"%d" % t, 9), 9),
        "members": lambda s, t: gzip.compress(b"%d" % t) + gzip.compress(b"") * (s // 20),
    },
    "csv.gz": {
        "lines": lambda s, t: gzip.compress(b"a\n%d\n" % t + b"1\n" * (s * RATIO // 2), 9),
        "twice": lambda s, t: gzip.compress(gzip.compress(b"a\n%d\n" % t + b"1\n" * (s * RATIO * 5), 9), 9),
    },
    "jsonl.gz": {
        "lines": lambda s, t: gzip.compress(b'{"a": %d}\n' % t + b'{"a": 1}\n' * (s * 55), 9),
    },
    "7z": {
        "small_members": lambda s, t: sevenz(many(s // 18, content=small(t))),
        "zeros": lambda s, t: sevenz([("a.bin", bytes(s * RATIO) + b"%d" % t)]),
        "nested": nested_sevenz,
        "zips": lambda s, t: sevenz([("a%d.zip" % i, tree(3, 5, b"%d" % t)) for i in range(20)]),
        "sevens": lambda s, t: tree(4, 4, b"%d" % t, sevenz, "a{}.7z"),
    },
    "bz2": {"zeros": lambda s, t: bz2.compress(bytes(s * RATIO) + b"%d" % t)},
    "xz": {"zeros": lambda s, t: lzma.compress(bytes(s * RATIO) + b"%d" % t)},
}
