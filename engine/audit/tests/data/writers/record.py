"""Writes one table with the installed pandas and pyarrow, into a directory named after their versions.

python -m venv v; v/bin/pip install pandas==2.2.3 pyarrow==17.0.0 numpy==1.26.4; v/bin/python record.py
"""
import io
import pathlib
import random

import numpy as np
import pandas as pd

try:
    import pyarrow
    name = f"pandas-{pd.__version__}+pyarrow-{pyarrow.__version__}"
except ImportError:
    pyarrow, name = None, f"pandas-{pd.__version__}"
folder = pathlib.Path(name)
folder.mkdir(exist_ok=True)
random.seed(7)
raw = "id,place,latitude,note\n" + "".join(
    f"{i},{random.choice(['Oslo', 'None', '', 'Bergen'])},{random.uniform(40, 60):.15f},n{i}\n" for i in range(400)
)
frame = pd.read_csv(io.StringIO(raw))
frame.to_csv(folder / "table.csv", index=False)
if pyarrow:
    rng = np.random.RandomState(0)
    numbers = pd.DataFrame({"batch": np.arange(40) // 9, "event": np.arange(40) * 7 + 24, "azimuth": rng.rand(40) * 6.28, "zenith": rng.rand(40)})
    numbers.to_parquet(folder / "numbers.parquet", engine="pyarrow", index=False)
