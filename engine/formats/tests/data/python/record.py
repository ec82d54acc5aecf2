"""Records which code points below U+3001 Python ignores next to a number: `python3 record.py > spaces.txt`.

`float` and `int` ignore the same code points, before and after the digit, for ASCII digits and others.
"""

import sys


def accepts(convert, text):
    try:
        convert(text)
    except ValueError:
        return False
    return True


def spaces(convert, digit, before):
    found = []
    for code in range(0x3001):
        char = chr(code)
        text = char + digit if before else digit + char
        if not char.isdecimal() and char not in "+-." and accepts(convert, text):
            found.append(code)
    return found


ways = [(c, d, b) for c in (float, int) for d in ("1", "\u0661") for b in (True, False)]
found = [spaces(*way) for way in ways]
assert all(one == found[0] for one in found)
assert not any(accepts(convert, bytes([code]) + b"1") for convert in (float, int) for code in range(0x1C, 0x20))
print(*(f"{code:x}" for code in found[0]))
print(sys.version, file=sys.stderr)
