"""Writes headers.json: the first bytes of small images of every kind (hex), with format and size as Pillow opens them."""
import io
import json
import random
import struct

from PIL import Image

rng = random.Random(2)
cases = []


def add(name, data, keep=None):
    """Adds a case with the first `keep` bytes of an image."""
    image = Image.open(io.BytesIO(data))
    cases.append({"name": name, "hex": data[:keep].hex(), "format": image.format, "size": image.size})


def saved(mode, size, format, **options):
    out = io.BytesIO()
    Image.new(mode, size, 1).save(out, format, **options)
    return out.getvalue()


for number in range(40):
    size = (rng.randrange(1, 300), rng.randrange(1, 300))
    add("png", saved(rng.choice(["L", "RGB", "RGBA", "1", "I;16", "P"]), size, "PNG"), 40)
    add("gif", saved("P", size, "GIF"), 40)
    add("bmp", saved(rng.choice(["L", "RGB", "1"]), size, "BMP"), 60)
    exif = Image.Exif()
    exif[0x0112] = 6
    add("jpeg", saved(rng.choice(["L", "RGB", "CMYK"]), size, "JPEG", progressive=number % 2 == 0, comment=b"c" * rng.randrange(300), exif=exif), 2000)
    for compression in ["raw", "tiff_lzw", "tiff_deflate"]:
        data = saved(rng.choice(["L", "RGB", "1", "I;16", "F"]) if compression == "raw" else "RGB", (size[0] % 20 + 1, size[1] % 20 + 1), "TIFF", compression=compression)
        add("tiff " + compression, data)
    if number < 5:
        big = saved("L", (size[0] % 9 + 1, size[1] % 9 + 1), "TIFF", big_tiff=True)
        add("bigtiff", big)


def tiff(order, width_kind, directory):
    """Builds a TIFF file byte by byte, with the directory at a given position."""
    def pack(format, *values):
        return struct.pack(order + format, *values)
    kinds = {3: ("H", 2), 4: ("I", 4)}
    letter, length = kinds[width_kind]
    def entry(tag, kind, value):
        letter, length = kinds[kind]
        return pack("HHI", tag, kind, 1) + pack(letter, value) + b"\0" * (4 - length)
    entries = [entry(256, width_kind, 7), entry(257, width_kind, 5), entry(258, 3, 8), entry(259, 3, 1), entry(262, 3, 1), entry(273, 4, 8),
               entry(277, 3, 1), entry(278, 4, 5), entry(279, 4, 35)]
    head = (b"II" if order == "<" else b"MM") + pack("HI", 42, directory)
    body = head + b"\0" * (directory - 8) + pack("H", len(entries)) + b"".join(entries) + pack("I", 0)
    return body + b"\0" * 64


for order in "<>":
    for kind in (3, 4):
        add("tiff by hand", tiff(order, kind, 50))

# A BMP with the short header of OS/2, and a BMP whose rows are stored from top to bottom.
add("bmp core", b"BM" + struct.pack("<IHHI", 26 + 4 * 3, 0, 0, 26) + struct.pack("<IHHHH", 12, 1, 3, 1, 24) + b"\0" * 12)
add("bmp down", b"BM" + struct.pack("<IHHI", 54 + 4 * 3, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 1, -3, 1, 24, 0, 12, 0, 0, 0, 0) + b"\0" * 12)
json.dump(cases, open("headers.json", "w"), indent=0)
