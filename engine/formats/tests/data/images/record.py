"""Writes small PNG images of every kind, and grey.json with the results of Pillow's convert("L")."""
import io, json, random, struct, zlib
from PIL import Image

rng = random.Random(0)
W, H = 13, 7

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(depth, color, channels, extra=b"", interlace=0, limit=256):
    """Returns a PNG image with random samples. `depth` and `color` are those of the header, `extra` are chunks before the data."""
    bits = W * channels * depth
    rows = b"".join(bytes([rng.randrange(5)]) + bytes(rng.randrange(256) for _ in range((bits + 7) // 8)) for _ in range(H)) if not interlace else None
    if interlace:
        rows = b""
        for x0, y0, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]:
            w, h = max(0, (W - x0 + dx - 1) // dx), max(0, (H - y0 + dy - 1) // dy)
            if w and h:
                rows += b"".join(b"\0" + bytes(rng.randrange(256) for _ in range((w * channels * depth + 7) // 8)) for _ in range(h))
    header = struct.pack(">IIBBBBB", W, H, depth, color, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")

def palette(count):
    return chunk(b"PLTE", bytes(rng.randrange(256) for _ in range(3 * count)))

images = {
    "grey1": png(1, 0, 1), "grey2": png(2, 0, 1), "grey4": png(4, 0, 1), "grey8": png(8, 0, 1), "grey8_interlaced": png(8, 0, 1, interlace=1),
    "grey4_interlaced": png(4, 0, 1, interlace=1), "grey8_transparent": png(8, 0, 1, chunk(b"tRNS", b"\0\x07")),
    "rgb": png(8, 2, 3), "rgb_interlaced": png(8, 2, 3, interlace=1), "rgba": png(8, 6, 4), "grey_alpha": png(8, 4, 2),
    "palette1": png(1, 3, 1, palette(2)), "palette2": png(2, 3, 1, palette(4)), "palette4": png(4, 3, 1, palette(16)), "palette8": png(8, 3, 1, palette(256)),
    "palette8_transparent": png(8, 3, 1, palette(256) + chunk(b"tRNS", bytes(range(0, 200)))),
    "palette8_short": png(8, 3, 1, palette(100)), "palette4_short": png(4, 3, 1, palette(5)),
    "grey16": png(16, 0, 1), "rgb16": png(16, 2, 3),
}
recorded = {}
for name, data in images.items():
    image = Image.open(io.BytesIO(data))
    recorded[name] = {"png": data.hex(), "mode": image.mode, "size": image.size, "grey": None if name.endswith("16") else image.convert("L").tobytes().hex()}
json.dump(recorded, open("grey.json", "w"), indent=0)
