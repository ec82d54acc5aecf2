"""Writes small files with fastparquet, in several compressions, and table.json: their rows."""
import json
import numpy as np, pandas as pd

n = 50
frame = pd.DataFrame({
    "i64": pd.array([None if i == 7 else i * 10 ** 15 for i in range(n)], "Int64"), "i16": np.arange(n, dtype="i2"),
    "f64": [None if i % 9 == 4 else i / 7 for i in range(n)], "f32": np.arange(n, dtype="f4") / 8,
    "text": [None if i == 3 else "t\u00e9xt %d" % (i % 4) for i in range(n)], "flag": np.arange(n) % 3 == 0,
})
rows = [{key: None if pd.isna(value) else value for key, value in row.items()} for row in frame.to_dict("records")]
json.dump(rows, open("table.json", "w"))
for codec in ["SNAPPY", "ZSTD", "GZIP", "LZ4_RAW", "UNCOMPRESSED"]:
    frame.to_parquet(codec.lower() + ".parquet", engine="fastparquet", index=False, compression=codec, row_group_offsets=[0, 20, 40])
frame["text"] = frame["text"].astype("category")  # a dictionary page
frame.to_parquet("dictionary.parquet", engine="fastparquet", index=False, row_group_offsets=[0, 20, 40])
