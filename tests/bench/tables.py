"""A table like the taxi competition's, beside pandas."""
import random, sys, zipfile

from measure import Row, prep, run, same

PANDAS = """
import sys
import pandas as pd
from sklearn.model_selection import train_test_split
source, target = sys.argv[1:]
rides = pd.read_csv(source, float_precision="round_trip")
train, test = train_test_split(rides, test_size=0.1, random_state=0)
assert set(train["key"]).isdisjoint(test["key"])
train.to_csv(f"{target}/train.csv", index=False)
test.drop(columns=["fare_amount"]).to_csv(f"{target}/test.csv", index=False)
test.to_csv(f"{target}/answers.csv", index=False)
"""


def write_table(path, rows):
    """Two in three decimals have 14 to 17 digits, as coordinates from a float32 have."""
    draw = random.Random(0)
    with open(path, "w") as out:
        out.write("key,fare_amount,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,passenger_count\n")
        for row in range(rows):
            second = row * 31 % 86400
            key = f"2013-{row % 12 + 1:02}-{row % 28 + 1:02} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{row:07}"
            places = ",".join(repr(base + draw.random() / 8) for base in (-73.98, 40.75, -73.97, 40.76))
            out.write(f"{key},{draw.randrange(250, 6000) / 100},{places},{row % 6 + 1}\n")


def bundle(work, rows):
    raw = work / "train.csv"
    write_table(raw, rows)
    with zipfile.ZipFile(work / "bench-table.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        out.write(raw, "train.csv")
    return raw


def table(args, work):
    raw = bundle(work, args.rows)
    ours = prep(args, work, "bench-table")
    target = work / "pandas"
    target.mkdir(exist_ok=True)
    theirs = run("pandas", [args.python, "-c", PANDAS, raw, target])
    prepared = work / "data/bench-table/prepared"
    for ours_name, name in (("public/train.csv", "train.csv"), ("public/test.csv", "test.csv"), ("private/test.csv", "answers.csv")):
        if not same(prepared / ours_name, target / name):
            sys.exit(f"{ours_name} is not what pandas wrote")
    return [Row("table", f"{args.rows} rows, {raw.stat().st_size / 1e6:.0f} MB", ours, "pandas (not unzipping)", theirs, "equal bytes")]


def memory(args, work):
    costs = []
    for rows in (args.rows // 4, args.rows * 10 // 4):
        bundle(work, rows)
        costs.append(prep(args, work, "bench-table"))
    further = (costs[1].memory - costs[0].memory) * 2**20 / (9 * (args.rows // 4))
    return [Row("memory", f"{args.rows * 10 // 4} rows", costs[1], f"{args.rows // 4} rows", costs[0],
                f"{further:.1f} bytes for a further row")]
