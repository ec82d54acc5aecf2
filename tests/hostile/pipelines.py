"""Pipelines that repeat one mistake until almost all of their bytes belong to it."""

HEAD = "name: X\ncategory: Tabular\nbundle: { kaggle: x }\n"
TABLE = "tables:\n  t: { read: a.csv, columns: [id] }\n"
PUBLIC = "public:\n  a.csv: SELECT id FROM t\n"


def repeated(form, size):
    count = max(1, size // len(form.format(10_000, 10_000)))
    return "".join(form.format(i, i + 1) for i in range(count))


# Functions that make hostile files, by file name suffix and name. Their arguments are the approximate length of the file,
# and 0 or 1 for two variants of the file that differ in one value.
RECIPES = {
    "yaml": {
        "equal_texts": lambda size, variant: HEAD + "lists:\n  l: [" + "a, " * (size // 3) + f"{variant}]\n" + TABLE + PUBLIC,
        "unused_lists": lambda size, variant: HEAD + "lists:\n" + repeated("  l{}: [a]\n", size) + TABLE + PUBLIC,
        "equal_columns": lambda size, variant: HEAD + "tables:\n  t: { read: a.csv, columns: [" + "a, " * (size // 3) + "b] }\n" + PUBLIC,
        "equal_unpivoted": lambda size, variant: HEAD + TABLE + "  u: { unpivot: t, name: n, value: v, columns: [" + "a, " * (size // 3) + "b] }\n" + PUBLIC,
        "unknown_tables": lambda size, variant: HEAD + TABLE + repeated("  u{}: SELECT id FROM v{}\n", size) + PUBLIC,
        "cycles": lambda size, variant: HEAD + TABLE + repeated("  u{}: SELECT a.id FROM u{} AS a JOIN u0 USING (id)\n", size) + PUBLIC,
        "braces": lambda size, variant: HEAD + "tables:\n  t: { files: '" + "{a," * (size // 4) + "}" * (size // 4) + "' }\n" + PUBLIC,
        "wildcards": lambda size, variant: HEAD + "tables:\n  t: { files: '" + "?" * size + "' }\n" + PUBLIC,
        "unknown_keys": lambda size, variant: HEAD + repeated("k{}: x\n", size) + TABLE + PUBLIC,
        "lists_in_lists": lambda size, variant: HEAD + "lists:\n  l: " + "[" * size,
        "long_name": lambda size, variant: HEAD + TABLE + f"public:\n  a.csv: SELECT id FROM {'u' * size}\n",
    }
}
for kinds in RECIPES.values():
    for name, make in kinds.items():
        kinds[name] = lambda size, variant, make=make: make(size, variant).encode()
