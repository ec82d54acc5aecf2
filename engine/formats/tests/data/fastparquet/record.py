"""Writes small files with the installed fastparquet and pandas, named `FASTPARQUET+PANDAS.NAME.parquet`.

python -m venv v; v/bin/pip install fastparquet==2024.5.0 pandas==2.2.3 numpy==1.26.4; v/bin/python record.py
"""
import warnings

import fastparquet
import numpy as np
import pandas as pd

warnings.simplefilter("ignore")
rng = np.random.RandomState(0)


def write(name, **columns):
    path = f"{fastparquet.__version__}+{pd.__version__}.{name}.parquet"
    pd.DataFrame(columns).to_parquet(path, engine="fastparquet", index=False)


write("numbers", batch=np.arange(40) // 9, event=np.arange(40) * 7 + 24, azimuth=rng.rand(40) * 6.28, zenith=rng.rand(40))
for rows in (16, 17):
    single = rng.rand(rows).astype("f4")
    single[3] = np.nan
    write(f"gaps{rows}", id=np.arange(rows).astype("i4"), single=single, double=np.where(np.arange(rows) % 5 == 0, np.nan, rng.rand(rows)))
write(
    "types", i8=np.arange(-4, 5).astype("i1"), i16=np.arange(9).astype("i2"), u8=np.arange(9).astype("u1"),
    u16=np.arange(9).astype("u2"), u32=np.arange(9).astype("u4") + 4000000000, u64=np.arange(9).astype("u8") + 2**63,
    flag=np.arange(9) % 2 == 0, text=["a", "b\u00e9", None, "", "x" * 40, "1", "2", "3", "4"], full=list("abcdefghi"),
    f4=np.linspace(-1, 1, 9, dtype="f4"), f8=[0.5, -0.25, np.inf, -np.inf, 1e300, 5e-324, 1, 2, 3],
)
write("flags", flag=np.arange(16) % 3 == 0)
write("empty", a=np.array([], dtype="i8"), f=np.array([], dtype="f8"))
texts = {} if pd.__version__ >= "3" else {"t": np.array([None] * 8, dtype=object)}
write("missing", a=np.arange(8), f=np.full(8, np.nan), **texts)
write("blocks", k=np.arange(20000) // 500, t=np.array([f"row {i % 7}" for i in range(20000)]))
write("nullable", a=pd.array([1, None, 3], dtype="Int64"), b=pd.array([None, 2, 3], dtype="Int32"), c=pd.array([True, None, False], dtype="boolean"))

# Row groups have at most 16 rows here. By default they have up to 50 million.
gaps = np.where(np.arange(50) % 7 == 0, np.nan, rng.rand(50))
gaps[:13] = 1.5
frame = pd.DataFrame({"a": np.arange(50), "f": gaps, "t": [f"t{i % 3}" for i in range(50)], "b": np.arange(50) % 3 == 0})
frame.to_parquet(f"{fastparquet.__version__}+{pd.__version__}.groups.parquet", engine="fastparquet", index=False, row_group_offsets=16)
