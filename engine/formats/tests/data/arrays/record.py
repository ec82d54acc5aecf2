"""Records arrays and what numpy saves after gathering rows: arrays.json."""
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
def failing(array, **options):
    raw = io.BytesIO(); np.lib.format.write_array(raw, array, **options); return raw.getvalue().hex()
refused = {"fortran": failing(np.asfortranarray(rng.rand(3, 2))), "object": failing(np.array([None, 1], dtype=object)), "record": failing(np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]))}
json.dump({"gathered": recorded, "refused": refused}, open("arrays.json", "w"), indent=0)
