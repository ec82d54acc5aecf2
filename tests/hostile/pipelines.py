"""Pipelines with a mistake in most of their bytes."""

HEAD = "name: X\ncategory: Tabular\nbundle: { kaggle: x }\n"
TABLE = "tables:\n  t: { read: a.csv, columns: [id] }\n"
PUBLIC = "public:\n  a.csv: SELECT id FROM t\n"


def repeated(form, size):
    count = max(1, size // len(form.format(10_000, 10_000)))
    return "".join(form.format(i, i + 1) for i in range(count))


RECIPES = {
    "yaml": {
        "equal_texts": lambda s, t: HEAD + "lists:\n  l: [" + "a, " * (s // 3) + f"{t}]\n" + TABLE + PUBLIC,
        "unused_lists": lambda s, t: HEAD + "lists:\n" + repeated("  l{}: [a]\n", s) + TABLE + PUBLIC,
        "equal_columns": lambda s, t: HEAD + "tables:\n  t: { read: a.csv, columns: [" + "a, " * (s // 3) + "b] }\n" + PUBLIC,
        "equal_unpivoted": lambda s, t: HEAD + TABLE + "  u: { unpivot: t, name: n, value: v, columns: [" + "a, " * (s // 3) + "b] }\n" + PUBLIC,
        "unknown_tables": lambda s, t: HEAD + TABLE + repeated("  u{}: SELECT id FROM v{}\n", s) + PUBLIC,
        "cycles": lambda s, t: HEAD + TABLE + repeated("  u{}: SELECT a.id FROM u{} AS a JOIN u0 USING (id)\n", s) + PUBLIC,
        "braces": lambda s, t: HEAD + "tables:\n  t: { files: '" + "{a," * (s // 4) + "}" * (s // 4) + "' }\n" + PUBLIC,
        "wildcards": lambda s, t: HEAD + "tables:\n  t: { files: '" + "?" * s + "' }\n" + PUBLIC,
        "unknown_keys": lambda s, t: HEAD + repeated("k{}: x\n", s) + TABLE + PUBLIC,
        "lists_in_lists": lambda s, t: HEAD + "lists:\n  l: " + "[" * s,
        "long_name": lambda s, t: HEAD + TABLE + f"public:\n  a.csv: SELECT id FROM {'u' * s}\n",
    }
}
for kinds in RECIPES.values():
    for name, make in kinds.items():
        kinds[name] = lambda s, t, make=make: make(s, t).encode()
