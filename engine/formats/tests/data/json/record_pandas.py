"""Writes pandas.jsonl: numbers and texts, the output of ujson's dumps for them, and the doubles that its loads reads."""
import json, random
from pandas._libs.json import ujson_loads, ujson_dumps

rng = random.Random(1)
def number():
    form = rng.randrange(4)
    if form == 0: return "%.*f" % (rng.randrange(1, 20), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-5, 15))
    if form == 1: return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-25, 18))
    if form == 2: return str(rng.randrange(-2 ** 63, 2 ** 64))
    return "%d.%de%d" % (rng.randrange(100), rng.randrange(10 ** 6), rng.randrange(-30, 25))
texts = ["[%s]" % number() for _ in range(600)] + ["0", "-0", "-0.0", "-1e-12", "1e-7", "1e20", "0.5", "0.00000000005", "0.00000000015", "0.99999999999", "1e16", "9999999999999999.0", "1e-15", "9e-16",
    "null", "true", "[]", "{}", '{"a":[1,{"b":null}],"c":"d"}', '"\\u00e9\\ud83c\\udf55/\\b\\f\\n\\r\\t\\u0001\\u007f\\"\\\\<>&"', "18446744073709551615", "18446744073709551616", "-9223372036854775809", "0.12345678905"]
# Returns a text that ujson reads but Python rejects or reads differently. ujson misreads some integers of more than 20
# digits without an error. prep rejects such integers, so this function returns none.
def spelled():
    digits = lambda most: "".join(rng.choice("0012345678999") for _ in range(rng.randrange(most)))
    whole = rng.choice(["", "-", "-", "00"]) + digits(8)
    point = rng.choice(["", "", "." + digits(20)])
    exponent = rng.choice(["", "", rng.choice("eE") + rng.choice(["", "-", "+"]) + rng.choice(["", "0", digits(3)])])
    return "[%s]" % (whole + point + exponent)
PIECES = ["\\ud83d", "\\uDE00", "\\ud800", "\\udc00", "\\u0041", "\\u00e9", "x", "é", "\\n", "\x01", "\x1f", "\t", "\\/", "\\x", "\x7f", "\\u00"]
def text():
    pieces = "".join(rng.choice(PIECES) for _ in range(rng.randrange(6)))
    return rng.choice(['"%s"', '{"%s":1}', '["%s",1]']) % pieces
texts += [spelled() for _ in range(700)] + [text() for _ in range(700)]
texts += ["NaN", "[NaN,Infinity,-Infinity]", '{"a":NaN}', '{"a":1,}', '{"a":{"b":1,},}', "{,}", "[1,]", "[,]", "-", "--1", "-a", "+1", ".5", "nan", "[1 2]", '{"a":1,,}', '"\x00"', "[-]", '{"a":-}', "-Infinit", "Infinityx"]
# ujson_dumps crashes on a key with an unpaired surrogate, so the loop tries to encode the value before it calls ujson_dumps.
with open("pandas.jsonl", "w") as out:
    for text in texts:
        try: result = [ujson_loads(text)]; json.dumps(result, ensure_ascii=False).encode(); result = [ujson_dumps(result[0], double_precision=10), [repr(v) if isinstance(v, float) else None for v in (result[0] if isinstance(result[0], list) else [])]]
        except (ValueError, UnicodeEncodeError): result = [None, []]
        out.write(json.dumps([text] + result) + "\n")
