"""Archives that declare, contain or repeat more than their length suggests."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib

RATIO = 1000  # the best compression ratio of deflate


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


def zip_overlapping(size, variant):
    """Every entry of the directory describes the same member."""
    data = zlib.compress(b"a,b\n" + b"%d,1\n" % variant + b"1,2\n" * (size * 5), 9)[2:-4]
    plain = b"a,b\n" + b"%d,1\n" % variant + b"1,2\n" * (size * 5)
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


def sparse_tar(size, variant):
    header = bytearray(512)
    for at, text in [(0, b"a.csv"), (100, b"0000644\0"), (124, b"00000000000\0"), (136, b"00000000000\0"), (148, b" " * 8), (156, b"S"), (257, b"ustar  \0"), (386, bytes([128, 0, 0, 0, 0, 0, 1 + variant, 0, 0, 0, 0, 0])), (398, b"00000000000\0"), (483, bytes([128, 0, 0, 0, 0, 0, 1 + variant, 0, 0, 0, 0, 0]))]:
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


def small(variant):
    return lambda i: b"%d" % (variant if i == 0 else 0)


def nested_sevenz(size, variant):
    content = bytes(size * RATIO) + b"%d" % variant
    for level in range(3):
        content = sevenz([("a.7z" if level else "a.csv", content)])
    return content


def workbook(size, variant):
    """Every cell refers to one long text."""
    shared = "<sst><si><t>%d%s</t></si></sst>" % (variant, "x" * (size * 300))
    cells = "<sheetData>%s</sheetData>" % ('<row><c t="s"><v>0</v></c></row>' * (size * 10))
    return zipped([("xl/sharedStrings.xml", shared.encode()), ("xl/worksheets/sheet1.xml", cells.encode())])


def markup(size, variant):
    """Nested elements with long names. The innermost element has many attributes."""
    name = "t" * 1000
    attributes = "".join(f' a{i}="{i}"' for i in range(200))
    block = f"<{name}>" * 60 + f"<b{attributes}/>{variant}" + f"</{name}>" * 60
    return zipped([("a.xml", block.encode() * (size * RATIO // 10 // len(block)))])


def text_chunks(size, variant):
    chunk = b"\0\0\0\1tEXta\0\0\0\0"
    return zipped([("a.png", b"\x89PNG\r\n\x1a\n" + chunk * (size * 500 // len(chunk)) + b"%d" % variant)])


def long_end(size, variant):
    """A tar.gz with much more data after its last member: compressed zeros, which the outer zip compresses again."""
    zeros = gzip.compress(bytes(1 << 24), 9)
    return zipped([("x.tar.gz", gzip.compress(tarred([("a.csv", b"%d" % variant)])) + zeros * (size // 25))])


def checkerboard(size, variant):
    side = int((size * RATIO) ** 0.5) | 1
    header = b"{'descr': '|b1', 'fortran_order': False, 'shape': (%d, %d), }" % (side, side)
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + (b"\0\1" * (side * side))[: side * side - 1]
    return zipped([("a.npy", array + bytes([variant]))])


# Functions that make hostile files, by file name suffix and name. Their arguments are the approximate length of the file,
# and 0 or 1 for two variants of the file that differ in one value.
RECIPES = {
    "xlsx": {"shared_text": workbook},
    "zip": {
        "markup": markup,
        "text_chunks": text_chunks,
        "long_end": long_end,
        "checkerboard": checkerboard,
        "long_header": lambda size, variant: zipped([("a.csv", b"%d" % variant + b"x" * (size * RATIO) + b"\n1\n")]),
        "empty_members": lambda size, variant: zipped(many(size // 90) + [("t.csv", b"%d" % variant)], zipfile.ZIP_STORED),
        "small_members": lambda size, variant: zipped(many(size // 90, content=small(variant)), zipfile.ZIP_STORED),
        "equal_names": lambda size, variant: zipped([("a.csv", b"%d" % (i * variant)) for i in range(size // 100)], zipfile.ZIP_STORED),
        "zeros": lambda size, variant: zipped([("a.bin", bytes(size * RATIO) + b"%d" % variant)]),
        "text": lambda size, variant: zipped([("a.csv", b"a,b\n%d,1\n" % variant + b"1,2\n" * (size * 150))]),
        "json_lines": lambda size, variant: zipped([("a.jsonl", b'{"a": %d}\n' % variant + b'{"a": 1}\n' * (size * 60))]),
        "zip_of_empties": lambda size, variant: zipped([("a%d.zip" % i, zipped(many(size // 15) + [("x", b"%d" % (variant + i))], zipfile.ZIP_STORED)) for i in range(2)]),
        "width_2": lambda size, variant: tree(2, 8, b"%d" % variant),
        "width_3": lambda size, variant: tree(3, 7, b"%d" % variant),
        "width_10": lambda size, variant: tree(10, 4, b"a,b\n%d" % variant),
        "width_30": lambda size, variant: tree(30, 3, b"a,b\n%d" % variant + b"1,2\n" * size),
        "stored_8": lambda size, variant: tree(1, 8, b"a,b\n%d" % variant, lambda m: zipped(m, zipfile.ZIP_STORED)),
        "stored_5000": lambda size, variant: tree(1, size // 110, b"a,b\n%d" % variant, lambda m: zipped(m, zipfile.ZIP_STORED)),
        "long_names": lambda size, variant: zipped([("%05d" % i + "d/" * 20_000 + "x.csv", b"%d" % variant) for i in range(max(1, size // 80_100))]),
        "overlapping": zip_overlapping,
    },
    "tar": {
        "empty_members": lambda size, variant: tarred(many(size // 512) + [("t.csv", b"%d" % variant)]),
        "sparse": sparse_tar,
        "nested_tars": lambda size, variant: tree(1, 12, b"%d" % variant, tarred, "a{}.tar"),
    },
    "tgz": {
        "empty_members": lambda size, variant: gzip.compress(tarred(many(size // 5) + [("t.csv", b"%d" % variant)]), 9),
        "small_members": lambda size, variant: gzip.compress(tarred(many(size // 6, content=small(variant))), 9),
        "zip_of_zips": lambda size, variant: gzip.compress(tarred([("a.zip", tree(6, 5, b"a,b\n%d" % variant))]), 9),
        "wide_zips": lambda size, variant: gzip.compress(tarred([("a.zip", tree(40, 3, b"a,b\n%d" % variant, lambda m: zipped(m, zipfile.ZIP_STORED)))]), 9),
        "tars": lambda size, variant: gzip.compress(tree(3, 6, b"%d" % variant, lambda m: gzip.compress(tarred(m), 9), "a{}.tgz"), 9),
        "zeros": lambda size, variant: gzip.compress(tarred([("a.bin", bytes(size * RATIO) + b"%d" % variant)]), 9),
    },
    "gz": {
        "zeros": lambda size, variant: gzip.compress(bytes(size * RATIO) + b"%d" % variant, 9),
        "twice": lambda size, variant: gzip.compress(gzip.compress(bytes(size * RATIO * 4) + b"%d" % variant, 9), 9),
        "members": lambda size, variant: gzip.compress(b"%d" % variant) + gzip.compress(b"") * (size // 20),
    },
    "csv.gz": {
        "lines": lambda size, variant: gzip.compress(b"a\n%d\n" % variant + b"1\n" * (size * RATIO // 2), 9),
        "twice": lambda size, variant: gzip.compress(gzip.compress(b"a\n%d\n" % variant + b"1\n" * (size * RATIO * 5), 9), 9),
    },
    "jsonl.gz": {
        "lines": lambda size, variant: gzip.compress(b'{"a": %d}\n' % variant + b'{"a": 1}\n' * (size * 55), 9),
    },
    "7z": {
        "small_members": lambda size, variant: sevenz(many(size // 18, content=small(variant))),
        "zeros": lambda size, variant: sevenz([("a.bin", bytes(size * RATIO) + b"%d" % variant)]),
        "nested": nested_sevenz,
        "zips": lambda size, variant: sevenz([("a%d.zip" % i, tree(3, 5, b"%d" % variant)) for i in range(20)]),
        "sevens": lambda size, variant: tree(4, 4, b"%d" % variant, sevenz, "a{}.7z"),
    },
    "bz2": {"zeros": lambda size, variant: bz2.compress(bytes(size * RATIO) + b"%d" % variant)},
    "xz": {"zeros": lambda size, variant: lzma.compress(bytes(size * RATIO) + b"%d" % variant)},
}
