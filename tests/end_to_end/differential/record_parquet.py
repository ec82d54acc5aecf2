"""Writes Parquet files with missing cells, and the CSV files that pandas writes from them.

    python record_parquet.py        # writes parquet/NAME.parquet and parquet/NAME.csv next to this file

Needs pandas 2.2.3 and pyarrow.
"""
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent / "parquet"
TABLE = pa.table({
    "id": pa.array([1, 2, 3], pa.int64()),
    "small": pa.array([1, None, 3], pa.int8()),
    "large": pa.array([2**53 + 1, None, -1], pa.int64()),
    "unsigned": pa.array([2**64 - 1, None, 0], pa.uint64()),
    "code": pa.array([7, None, 7], pa.int64()).dictionary_encode(),
    "truth": pa.array([True, None, False], pa.bool_()),
    "share": pa.array([0.5, None, 1], pa.float64()),
    "name": pa.array(["a", None, ""], pa.string()),
})

for name, statistics in [("counted", True), ("not_counted", False)]:
    path = HERE / f"{name}.parquet"
    pq.write_table(TABLE.replace_schema_metadata(None), path, row_group_size=2, write_statistics=statistics)
    pd.read_parquet(path).to_csv(path.with_suffix(".csv"), index=False)
