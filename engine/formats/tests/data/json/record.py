"""Writes cases.jsonl: many texts, and the results of Python's json module for them.

A line: input (hex), and either error: [line, column] (null when Python names no
place) or the outputs of json.dumps for five sets of options.
"""
import json, random

rng = random.Random(0)
OPTIONS = [
    {}, {"indent": 4}, {"indent": 1, "sort_keys": True},
    {"separators": (",", ":")}, {"ensure_ascii": False, "indent": 0},
]

texts = [
    "", " ", "null", "true", "false", "nul", "True", "[", "]", "{", "}", "[]", "{}", " [ ] ", "[[]]", "[{}]", '{"a":{}}',
    "[1,]", "[,1]", "[1 2]", "{,}", '{"a"}', '{"a":}', '{"a":1,}', '{"a" 1}', "{1:2}", "{'a':1}", '{"a":1 "b":2}', "[1] x", "1 2",
    '{"b":1,"a":2,"b":3}', '{"a":[1,2,{"b":null}],"c":true}', '{"b":1,"B":2,"a":{"z":1,"y":[]},"\u00e9":4,"\U0001f355":5,"\uffff":6}',
    "NaN", "Infinity", "-Infinity", "-NaN", "Inf", "-", "+1", ".5", "01", "-01", "1.", "1.e5", "1e", "1e+", "0x10", "1_0",
    "0", "-0", "-0.0", "0.0", "1E5", "1e3", "1e16", "1e15", "1e-4", "1e-5", "1e-7", "12.50", "1e400", "-1e400", "1e-400", "-1e-400",
    "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "123456789012345678901234567890", "-9223372036854775808",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "-99999999999999999999", "1" * 4300, "1" * 4301, "-" + "1" * 4300, "1" * 4301 + ".0",
    "9007199254740993.0", "0.1", "0.30000000000000004", "100000000000000000000.0", "123456789.123456789",
    '"\\u00e9\\ud83c\\udf55\\ud83c"', '"\\udf55\\ud83c"', '"\\ud83cx\\udf55"', '"\\ud83c\\u0041"', '"\\ud83c\\ud83c\\udf55"', '"\\uD83C\\uDF55"', '"\\/\\b\\f\\n\\r\\t\\"\\\\"',
    '"\x7f"', '"/"', '"\\u0000\\u001f\\u007f\\u0080\\u009f\\u2028"', '"a\tb"', '"a\nb"', '"\x00"', '"\\x41"', '"\\u12"', '"\\u12g4"', '"\\u+123"', '"\\u 123"', '"abc', '"abc\\', '"\\"', "'a'",
    '"\u00e9\u65e5\U0001f355"', "\ufeff[]", '[\n1,\n  x]', '{"a":\n\n  "\u65e5\u65e5" x}', "\u00a0[]", "[1]\n\n", "\t\r\n [1]", "\x0c[]",
    '{"\\ud800":1,"\\ud800":2}', "[" * 60 + "]" * 60, "[" * 3000, '{"a":' * 40 + "1" + "}" * 40,
    '[1.0, 2, "na", null, true, -0, 1e2]', '{"": 0}', "{" + ",".join('"k%d":%d' % (i % 40, i) for i in range(100)) + "}",
]

def number():
    form = rng.randrange(5)
    if form == 0: return str(rng.randrange(-10 ** rng.randrange(1, 25), 10 ** rng.randrange(1, 25)))
    if form == 1: return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-320, 308))
    if form == 2: return "%.*e" % (rng.randrange(0, 25), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-30, 30))
    if form == 3: return "%.*f" % (rng.randrange(1, 20), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-5, 18))
    return "%d%s%s%d" % (rng.randrange(1000), rng.choice("eE"), rng.choice(["", "+", "-"]), rng.randrange(30))

def string():
    pieces = ["a", "\u00e9", "\u65e5", "\U0001f600", "\\n", "\\u00df", "\\ud83d", "\\ude00", "\\\\", '\\"', " ", "\x7f", "/", "\\u0001"]
    return '"' + "".join(rng.choice(pieces) for _ in range(rng.randrange(6))) + '"'

def value(depth):
    form = rng.randrange(7 if depth else 4)
    if form < 2: return number()
    if form == 2: return string()
    if form == 3: return rng.choice(["null", "true", "false", "NaN", "-Infinity"])
    blank = rng.choice(["", " ", "\n ", "\r\n\t"])
    if form < 6: return "[" + blank + ("," + blank).join(value(depth - 1) for _ in range(rng.randrange(4))) + "]"
    return "{" + blank + ("," + blank).join(string() + blank + ":" + value(depth - 1) for _ in range(rng.randrange(4))) + "}"

texts += [value(3) for _ in range(250)] + [number() for _ in range(250)]
for _ in range(250):
    text = value(2)
    place = rng.randrange(len(text) + 1)
    texts.append(text[:place] + rng.choice(list('[]{},:"\\0-x \n') + [""]) + text[place + rng.randrange(2):])

with open("cases.jsonl", "w") as out:
    for text in texts:
        line = {"input": text.encode().hex()}
        try:
            loaded = json.loads(text)
            line["outputs"] = []
            for options in OPTIONS:
                try: line["outputs"].append(json.dumps(loaded, **options).encode().hex())
                except UnicodeEncodeError: line["outputs"].append(None)
        except json.JSONDecodeError as error:
            line["error"] = [error.lineno, error.colno]
        except (RecursionError, ValueError):
            line["error"] = None
        out.write(json.dumps(line) + "\n")
