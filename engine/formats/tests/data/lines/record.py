"""Writes lines.json: texts, and the lines that Python's text mode reads from them (null for bytes that are not UTF-8)."""
import io, json
import random

draw = random.Random(0)
pieces = [b"\n", b"\r", b"\r\n", b"a", b"bc", b",", b" ", "\u00e9".encode(), "\u2028".encode(), "\x85".encode(), b"\v", b"\f", b"\x1c", b"\0", b"\xff", "\ufeff".encode()]
recorded = []
while len(recorded) < 500:
    data = b"".join(draw.choice(pieces) for _ in range(draw.randrange(12)))
    try:
        lines = [line.rstrip("\n") for line in io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")]
    except UnicodeDecodeError:
        lines = None
    recorded.append([data.hex(), lines])
json.dump(recorded, open("lines.json", "w"), indent=0)
