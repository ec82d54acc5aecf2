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
    },
    "jpg": {
        "progressive_scans": lambda s, t: jpeg(s // 12, 4000, 4000, t),
        "progressive_small": lambda s, t: jpeg(s // 12, 64, 64, t),
        "sequential_claim": lambda s, t: jpeg(1, 65535, 65535, t, False),
        "progressive_claim": lambda s, t: jpeg(1, 65500, 1000, t),
        "sequential_16m": lambda s, t: jpeg(s // 12, 4096, 4000, t, False),
        "grey": lambda s, t: jpeg_grey(side(s, 80), side(s, 80), t),
    },
    "tif": {"claim": lambda s, t: b"II*\0\x08\0\0\0" + b"\xff\xff" + (b"\0\1\4\0\xff\xff\xff\xff\0\0\0\0" * (s // 12)) + bytes([t])},
}
