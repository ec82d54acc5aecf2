"""Images that are small files and large pictures."""

import io
import struct
import zlib

RATIO = 1000


def png(width, height, data, depth=8, colour=0, interlaced=0, extra=b""):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def zeros(count, twist, filter=0):
    return zlib.compress(bytes([filter]) + bytes(count) + bytes([twist]), 9)


def grey(width, height, twist, filter=0, **options):
    row = bytes([filter]) + bytes(width)
    return png(width, height, zlib.compress(row * (height - 1) + row[:-1] + bytes([twist]), 9), **options)


def text_chunk(kind, size):
    content = b"a\0\0" + zlib.compress(bytes(size * RATIO), 9)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def jpeg(scans, width, height, twist, progressive=True):
    """Every scan makes a decoder visit all blocks again."""
    out = b"\xff\xd8\xff\xdb\0\x43\0" + b"\1" * 64
    out += (b"\xff\xc2" if progressive else b"\xff\xc0") + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    # One code of one bit: the value 0.
    out += b"\xff\xc4\0\x14\0" + b"\1" + bytes(15) + b"\0"
    out += b"\xff\xc4\0\x14\x10" + b"\1" + bytes(15) + b"\0"
    for i in range(scans):
        if progressive:
            out += b"\xff\xda\0\x08\1\1\0" + (b"\0\0\0" if i == 0 else b"\1\x3f\0") + bytes(1)
        else:
            out += b"\xff\xda\0\x08\1\1\0\0\x3f\0" + bytes(2)
    return out + bytes([twist]) + b"\xff\xd9"


def jpeg_grey(width, height, twist):
    from PIL import Image

    out = io.BytesIO()
    image = Image.new("L", (width, height), 100)
    image.paste(100 + 50 * twist, (0, 0, 8, 8))
    image.save(out, "JPEG", quality=1)
    return out.getvalue()


def exif(size, twist, entries):
    """A JPEG with metadata of these entries, each of 12 bytes, in a directory that is its own successor."""
    count = len(entries) // 12
    tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", count & 0xFFFF) + entries + struct.pack("<I", 8)
    tiff = tiff[:65_000]
    segment = b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
    return b"\xff\xd8" + segment * max(1, size // len(segment)) + jpeg(1, 8, 8, twist)[2:]


def entry(tag, kind, count, value):
    return struct.pack("<HHII", tag, kind, count, value)


def chunks(size, twist, kind=b"tEXt", content=b""):
    chunk = struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return png(1, 1, zeros(1, twist), extra=chunk * (size // len(chunk)))


def riff(form, chunk, size, twist):
    content = form + chunk * (size // len(chunk)) + bytes([twist, 0])
    return b"RIFF" + struct.pack("<I", len(content)) + content


def side(size, each=900):
    return int((size * each) ** 0.5)


RECIPES = {
    "png": {
        "wide": lambda s, t: grey(s * 900, 1, t),
        "tall": lambda s, t: grey(1, s * 450, t),
        "square": lambda s, t: grey(side(s), side(s), t),
        "square_filtered": lambda s, t: grey(side(s), side(s), t, 4),
        "square_interlaced": lambda s, t: png(side(s), side(s), zlib.compress(bytes(s * 980) + bytes([t]), 9), interlaced=1),
        "rgba_16": lambda s, t: png(side(s, 110), side(s, 110), zlib.compress(bytes(s * 980) + bytes([t]), 9), depth=16, colour=6),
        "one_bit": lambda s, t: png(side(s, 7000), side(s, 7000), zlib.compress(bytes(s * 950) + bytes([t]), 9), depth=1),
        "claim": lambda s, t: png(1 << 30, 1 << 30, zeros(100, t)),
        "text": lambda s, t: png(1, 1, zeros(1, t), extra=text_chunk(b"zTXt", s)),
        "profile": lambda s, t: png(1, 1, zeros(1, t), extra=text_chunk(b"iCCP", s)),
        "long_data": lambda s, t: png(1, 1, zeros(s * RATIO, t)),
        "chunks": chunks,
        "unknown_chunks": lambda s, t: chunks(s, t, b"abCd"),
        "texts": lambda s, t: chunks(s, t, b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 20), 9)),
        "empty_data": lambda s, t: png(64, 64, zeros(4200, t), extra=(bytes(4) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))) * (s // 12)),
        "after_end": lambda s, t: grey(4, 4, t) + b"x" * s,
        "claim_text": lambda s, t: png(1, 1, zeros(1, t), extra=b"\xff\xff\xff\xfftEXt" + b"x" * s),
    },
    "jpg": {
        "progressive_scans": lambda s, t: jpeg(s // 12, 4000, 4000, t),
        "progressive_small": lambda s, t: jpeg(s // 12, 64, 64, t),
        "sequential_claim": lambda s, t: jpeg(1, 65535, 65535, t, False),
        "progressive_claim": lambda s, t: jpeg(1, 65500, 1000, t),
        "sequential_16m": lambda s, t: jpeg(s // 12, 4096, 4000, t, False),
        "grey": lambda s, t: jpeg_grey(side(s, 80), side(s, 80), t),
        "exif_loop": lambda s, t: exif(s, t, entry(0x8769, 4, 1, 8) * 400),
        "exif_long": lambda s, t: exif(s, t, entry(0x010E, 2, 0xFFFFFFFF, 8) * 400),
        "exif_overlapping": lambda s, t: exif(s, t, entry(0x010E, 2, 60_000, 8) * 5_000),
        "exif_comments": lambda s, t: exif(s, t, b"".join(entry(tag, 2, 60_000, 8) for tag in range(5_000))),
        "comments": lambda s, t: b"\xff\xd8" + b"\xff\xfe\0\3x" * (s // 5) + jpeg(1, 8, 8, t)[2:],
        "fill": lambda s, t: b"\xff\xd8" + b"\xff" * s + jpeg(1, 8, 8, t)[2:],
        "restarts": lambda s, t: jpeg(1, 8, 8, t)[:-2] + b"\xff\xd0" * (s // 2) + b"\xff\xd9",
    },
    "tiff": {
        "loop": lambda s, t: b"II*\0\x08\0\0\0\1\0" + entry(0x014A, 4, 1, 8) + struct.pack("<I", 8) + bytes([t]) * s,
        "many": lambda s, t: b"II*\0\x08\0\0\0" + b"".join(b"\0\0" + struct.pack("<I", 8 + 6 * (i + 1)) for i in range(s // 6)) + bytes([t]),
        "strips": lambda s, t: b"MM\0*\0\0\0\x08\0\3" + struct.pack(">HHIIHHIIHHII", 256, 4, 1, 60_000, 257, 4, 1, 60_000, 273, 4, s // 4, 50) + bytes(4) + bytes(s) + bytes([t]),
    },
    "gif": {
        "frames": lambda s, t: b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(6) + b",\0\0\0\0\xff\xff\xff\xff\0\2\1\x2c\0" * (s // 14) + bytes([t]) + b";",
        "comments": lambda s, t: b"GIF89a\1\0\1\0\0\0\0" + b"!\xfe\1x\0" * (s // 5) + bytes([t]) + b";",
    },
    "bmp": {"claim": lambda s, t: b"BM" + struct.pack("<IIIIiiHHIIiiII", s, 0, 54, 40, 2**31 - 1, -(2**31), 1, 24, 0, 0, 0, 0, 0, 0) + bytes(s) + bytes([t])},
    "webp": {"chunks": lambda s, t: riff(b"WEBP", b"EXIF\0\0\0\0", s, t), "claim": lambda s, t: riff(b"WEBP", b"VP8L\5\0\0\0\x2f\xff\xff\xff\xff\0", s, t)},
    "avi": {"lists": lambda s, t: riff(b"AVI ", b"LIST\4\0\0\0hdrl", s, t)},
    "mp4": {"boxes": lambda s, t: (struct.pack(">I", 8) + b"moov") * (s // 8) + bytes([t]), "deep": lambda s, t: b"".join(struct.pack(">I", s - 8 * i) + b"moov" for i in range(s // 8)) + bytes([t])},
    "mp3": {"tags": lambda s, t: b"ID3\4\0\0\x7f\x7f\x7f\x7f" + b"TXXX\0\0\0\1\0\0a" * (s // 11) + bytes([t]), "frames": lambda s, t: (b"\xff\xfb\x10\0" + bytes(100)) * (s // 104) + bytes([t])},
    "flac": {"blocks": lambda s, t: b"fLaC" + b"\4\0\0\0" * (s // 4) + bytes([t])},
    "pdf": {"deep": lambda s, t: b"%PDF-1.4\n" + b"<<" * (s // 2) + bytes([t]), "objects": lambda s, t: b"%PDF-1.4\n" + b"1 0 obj<</A 1 0 R>>endobj\n" * (s // 27) + bytes([t])},
    "dcm": {"sequences": lambda s, t: bytes(128) + b"DICM" + b"\x08\0\x15\x11SQ\0\0\xff\xff\xff\xff\xfe\xff\0\xe0\xff\xff\xff\xff" * (s // 20) + bytes([t])},
    "h5": {"zeros": lambda s, t: b"\x89HDF\r\n\x1a\n" + bytes(s) + bytes([t])},
    "tif": {"claim": lambda s, t: b"II*\0\x08\0\0\0" + b"\xff\xff" + (b"\0\1\4\0\xff\xff\xff\xff\0\0\0\0" * (s // 12)) + bytes([t])},
}
