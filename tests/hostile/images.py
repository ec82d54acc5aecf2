"""Small image files that decode to large pictures."""

import io
import struct
import zlib

RATIO = 1000  # the best compression ratio of deflate


def png(width, height, data, depth=8, colour=0, interlaced=0, extra=b""):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def zeros(count, variant, filter=0):
    return zlib.compress(bytes([filter]) + bytes(count) + bytes([variant]), 9)


def grey(width, height, variant, filter=0, **options):
    row = bytes([filter]) + bytes(width)
    return png(width, height, zlib.compress(row * (height - 1) + row[:-1] + bytes([variant]), 9), **options)


def text_chunk(kind, size):
    content = b"a\0\0" + zlib.compress(bytes(size * RATIO), 9)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def jpeg(scans, width, height, variant, progressive=True):
    """Every scan makes a decoder visit all blocks again."""
    out = b"\xff\xd8\xff\xdb\0\x43\0" + b"\1" * 64
    out += (b"\xff\xc2" if progressive else b"\xff\xc0") + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    # Huffman tables with a single code of one bit, for the value 0.
    out += b"\xff\xc4\0\x14\0" + b"\1" + bytes(15) + b"\0"
    out += b"\xff\xc4\0\x14\x10" + b"\1" + bytes(15) + b"\0"
    for i in range(scans):
        if progressive:
            out += b"\xff\xda\0\x08\1\1\0" + (b"\0\0\0" if i == 0 else b"\1\x3f\0") + bytes(1)
        else:
            out += b"\xff\xda\0\x08\1\1\0\0\x3f\0" + bytes(2)
    return out + bytes([variant]) + b"\xff\xd9"


def jpeg_grey(width, height, variant):
    from PIL import Image

    out = io.BytesIO()
    image = Image.new("L", (width, height), 100)
    image.paste(100 + 50 * variant, (0, 0, 8, 8))
    image.save(out, "JPEG", quality=1)
    return out.getvalue()


def exif(size, variant, entries):
    """A JPEG whose EXIF directory has these entries, each of 12 bytes. It is also its own next directory."""
    count = len(entries) // 12
    tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", count & 0xFFFF) + entries + struct.pack("<I", 8)
    tiff = tiff[:65_000]
    segment = b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
    return b"\xff\xd8" + segment * max(1, size // len(segment)) + jpeg(1, 8, 8, variant)[2:]


def entry(tag, kind, count, value):
    return struct.pack("<HHII", tag, kind, count, value)


def chunks(size, variant, kind=b"tEXt", content=b""):
    chunk = struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return png(1, 1, zeros(1, variant), extra=chunk * (size // len(chunk)))


def riff(form, chunk, size, variant):
    content = form + chunk * (size // len(chunk)) + bytes([variant, 0])
    return b"RIFF" + struct.pack("<I", len(content)) + content


def side(size, each=900):
    return int((size * each) ** 0.5)


# Functions that make hostile files, by file name suffix and name. Their arguments are the approximate length of the file,
# and 0 or 1 for two variants of the file that differ in one value.
RECIPES = {
    "png": {
        "wide": lambda size, variant: grey(size * 900, 1, variant),
        "tall": lambda size, variant: grey(1, size * 450, variant),
        "square": lambda size, variant: grey(side(size), side(size), variant),
        "square_filtered": lambda size, variant: grey(side(size), side(size), variant, 4),
        "square_interlaced": lambda size, variant: png(side(size), side(size), zlib.compress(bytes(size * 980) + bytes([variant]), 9), interlaced=1),
        "rgba_16": lambda size, variant: png(side(size, 110), side(size, 110), zlib.compress(bytes(size * 980) + bytes([variant]), 9), depth=16, colour=6),
        "one_bit": lambda size, variant: png(side(size, 7000), side(size, 7000), zlib.compress(bytes(size * 950) + bytes([variant]), 9), depth=1),
        "claim": lambda size, variant: png(1 << 30, 1 << 30, zeros(100, variant)),
        "text": lambda size, variant: png(1, 1, zeros(1, variant), extra=text_chunk(b"zTXt", size)),
        "profile": lambda size, variant: png(1, 1, zeros(1, variant), extra=text_chunk(b"iCCP", size)),
        "long_data": lambda size, variant: png(1, 1, zeros(size * RATIO, variant)),
        "chunks": chunks,
        "unknown_chunks": lambda size, variant: chunks(size, variant, b"abCd"),
        "texts": lambda size, variant: chunks(size, variant, b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 20), 9)),
        "empty_data": lambda size, variant: png(64, 64, zeros(4200, variant), extra=(bytes(4) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))) * (size // 12)),
        "after_end": lambda size, variant: grey(4, 4, variant) + b"x" * size,
        "claim_text": lambda size, variant: png(1, 1, zeros(1, variant), extra=b"\xff\xff\xff\xfftEXt" + b"x" * size),
    },
    "jpg": {
        "progressive_scans": lambda size, variant: jpeg(size // 12, 4000, 4000, variant),
        "progressive_small": lambda size, variant: jpeg(size // 12, 64, 64, variant),
        "sequential_claim": lambda size, variant: jpeg(1, 65535, 65535, variant, False),
        "progressive_claim": lambda size, variant: jpeg(1, 65500, 1000, variant),
        "sequential_16m": lambda size, variant: jpeg(size // 12, 4096, 4000, variant, False),
        "grey": lambda size, variant: jpeg_grey(side(size, 80), side(size, 80), variant),
        "exif_loop": lambda size, variant: exif(size, variant, entry(0x8769, 4, 1, 8) * 400),
        "exif_long": lambda size, variant: exif(size, variant, entry(0x010E, 2, 0xFFFFFFFF, 8) * 400),
        "exif_overlapping": lambda size, variant: exif(size, variant, entry(0x010E, 2, 60_000, 8) * 5_000),
        "exif_comments": lambda size, variant: exif(size, variant, b"".join(entry(tag, 2, 60_000, 8) for tag in range(5_000))),
        "comments": lambda size, variant: b"\xff\xd8" + b"\xff\xfe\0\3x" * (size // 5) + jpeg(1, 8, 8, variant)[2:],
        "fill": lambda size, variant: b"\xff\xd8" + b"\xff" * size + jpeg(1, 8, 8, variant)[2:],
        "restarts": lambda size, variant: jpeg(1, 8, 8, variant)[:-2] + b"\xff\xd0" * (size // 2) + b"\xff\xd9",
    },
    "tiff": {
        "loop": lambda size, variant: b"II*\0\x08\0\0\0\1\0" + entry(0x014A, 4, 1, 8) + struct.pack("<I", 8) + bytes([variant]) * size,
        "many": lambda size, variant: b"II*\0\x08\0\0\0" + b"".join(b"\0\0" + struct.pack("<I", 8 + 6 * (i + 1)) for i in range(size // 6)) + bytes([variant]),
        "strips": lambda size, variant: b"MM\0*\0\0\0\x08\0\3" + struct.pack(">HHIIHHIIHHII", 256, 4, 1, 60_000, 257, 4, 1, 60_000, 273, 4, size // 4, 50) + bytes(4) + bytes(size) + bytes([variant]),
    },
    "gif": {
        "frames": lambda size, variant: b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(6) + b",\0\0\0\0\xff\xff\xff\xff\0\2\1\x2c\0" * (size // 14) + bytes([variant]) + b";",
        "comments": lambda size, variant: b"GIF89a\1\0\1\0\0\0\0" + b"!\xfe\1x\0" * (size // 5) + bytes([variant]) + b";",
    },
    "bmp": {"claim": lambda size, variant: b"BM" + struct.pack("<IIIIiiHHIIiiII", size, 0, 54, 40, 2**31 - 1, -(2**31), 1, 24, 0, 0, 0, 0, 0, 0) + bytes(size) + bytes([variant])},
    "webp": {"chunks": lambda size, variant: riff(b"WEBP", b"EXIF\0\0\0\0", size, variant), "claim": lambda size, variant: riff(b"WEBP", b"VP8L\5\0\0\0\x2f\xff\xff\xff\xff\0", size, variant)},
    "avi": {"lists": lambda size, variant: riff(b"AVI ", b"LIST\4\0\0\0hdrl", size, variant)},
    "mp4": {"boxes": lambda size, variant: (struct.pack(">I", 8) + b"moov") * (size // 8) + bytes([variant]), "deep": lambda size, variant: b"".join(struct.pack(">I", size - 8 * i) + b"moov" for i in range(size // 8)) + bytes([variant])},
    "mp3": {"tags": lambda size, variant: b"ID3\4\0\0\x7f\x7f\x7f\x7f" + b"TXXX\0\0\0\1\0\0a" * (size // 11) + bytes([variant]), "frames": lambda size, variant: (b"\xff\xfb\x10\0" + bytes(100)) * (size // 104) + bytes([variant])},
    "flac": {"blocks": lambda size, variant: b"fLaC" + b"\4\0\0\0" * (size // 4) + bytes([variant])},
    "pdf": {"deep": lambda size, variant: b"%PDF-1.4\n" + b"<<" * (size // 2) + bytes([variant]), "objects": lambda size, variant: b"%PDF-1.4\n" + b"1 0 obj<</A 1 0 R>>endobj\n" * (size // 27) + bytes([variant])},
    "dcm": {"sequences": lambda size, variant: bytes(128) + b"DICM" + b"\x08\0\x15\x11SQ\0\0\xff\xff\xff\xff\xfe\xff\0\xe0\xff\xff\xff\xff" * (size // 20) + bytes([variant])},
    "h5": {"zeros": lambda size, variant: b"\x89HDF\r\n\x1a\n" + bytes(size) + bytes([variant])},
    "tif": {"claim": lambda size, variant: b"II*\0\x08\0\0\0" + b"\xff\xff" + (b"\0\1\4\0\xff\xff\xff\xff\0\0\0\0" * (size // 12)) + bytes([variant])},
}
