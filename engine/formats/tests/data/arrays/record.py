"""Writes arrays.json: arrays, the files that numpy saves after gathering rows, and the elements as Python prints them."""
import io, json
import numpy as np

rng = np.random.RandomState(0)
arrays = {
    "f4": rng.rand(20, 7).astype("f4"), "f8": rng.rand(9, 2, 3), "i1": np.arange(12, dtype="i1"), "bool": np.arange(8) % 3 == 0,
    "U": np.array(["07", " 4", "\u00e9\u65e5", "+3", ""], dtype="<U9"), "S": np.array([b"ab", b"c"], dtype="S5"),
    "big_endian": np.arange(10, dtype=">i4").reshape(5, 2), "one_d_fortran": np.arange(6.0), "empty": np.zeros((0, 4)), "no_width": np.zeros((5, 0)),
    "datetime": np.array(["2020-01-01", "2021-05-05"], dtype="M8[s]"), "long": np.arange(120000, dtype="u1"), "complex": np.ones((3, 1), "c16"),
    "nan": np.array([[np.nan, -0.0], [5e-324, np.inf]]),
}
recorded = {}
for name, array in arrays.items():
    positions = [] if len(array) == 0 else [int(p) for p in rng.permutation(len(array))[: max(1, min(len(array) * 2 // 3, 40))]]
    for version in [(1, 0), (2, 0), (3, 0)]:
        if version != (1, 0) and name not in ("f4", "big_endian", "U"): continue
        raw, out = io.BytesIO(), io.BytesIO()
        np.lib.format.write_array(raw, array, version)
        np.save(out, array[positions])
        if name == "long": raw = io.BytesIO(raw.getvalue()[:128])  # the data is 0, 1, 2, ...
        recorded["%s_v%d" % (name, version[0])] = {"raw": raw.getvalue().hex(), "positions": positions, "saved": out.getvalue().hex()}
# The files of arrays, as hex.
def failing(array, **options):
    raw = io.BytesIO(); np.lib.format.write_array(raw, array, **options); return raw.getvalue().hex()
refused = {"fortran": failing(np.asfortranarray(rng.rand(3, 2))), "object": failing(np.array([None, 1], dtype=object)), "record": failing(np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]))}
numbers = [0, 1, 2, 100, -1, -100]
elements = {order + kind: np.array(numbers).astype(order + kind) for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "b1"] for order in "<>"}
elements["i8 limits"] = np.array([-2**63, 2**63 - 1])
elements["u8 limits"] = np.array([0, 2**64 - 1], dtype="u8")
elements["f4 limits"] = np.array([np.nan, np.inf, -0.0, 1e-45, 0.1], dtype="f4")
elements["f8 limits"] = np.array([np.nan, -np.inf, -0.0, 5e-324, 0.1])
for order in "<>":
    elements[order + "U"] = np.array(["07", " 4", "\u00e9\U0001f600", "", "a\0b", "a\0"], dtype=order + "U9")
def printed(value):
    return value if isinstance(value, str) else str(value)
values = {name: {"raw": failing(array), "printed": [printed(value) for value in array]} for name, array in elements.items()}
no_values = {name: failing(array) for name, array in arrays.items() if name in ("S", "datetime", "f4", "complex")}
no_values["f2"] = failing(np.zeros(3, "f2"))
json.dump({"gathered": recorded, "refused": refused, "elements": values, "no_elements": no_values}, open("arrays.json", "w"), indent=0)
