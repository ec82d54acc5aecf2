"""Records what pandas, NumPy and scikit-learn say, for the tests of this crate. Needs the versions named in README.md.

usage: record.py OUTPUT_DIR
"""
import io, json, sys, warnings
import numpy as np, pandas as pd
from sklearn import metrics as m

warnings.simplefilter("ignore")
out = sys.argv[1]
rng = np.random.default_rng(7)


def read(text):
    return pd.read_csv(io.StringIO(text), float_precision="round_trip")


METRICS = {
    "accuracy": lambda t, p, **k: m.accuracy_score(t["y"].to_numpy(), p["y"].to_numpy()),
    "accuracy_list": lambda t, p, **k: m.accuracy_score(t["y"], p["y"].tolist()),
    "accuracy_text": lambda t, p, **k: m.accuracy_score(t["y"].astype(str).to_numpy(), p["y"].astype(str).to_numpy()),
    "f1_micro": lambda t, p, **k: m.f1_score(t["y"].tolist(), p["y"].tolist(), average="micro"),
    "f1_macro": lambda t, p, **k: m.f1_score(t["y"].to_numpy(), p["y"].to_numpy(), average="macro"),
    "f1_integer": lambda t, p, **k: m.f1_score([int(v) for v in t["y"]], [int(v) for v in p["y"]], average="macro"),
    "matthews": lambda t, p, **k: m.matthews_corrcoef(t["y"], p["y"]),
    "mae": lambda t, p, **k: m.mean_absolute_error(t["y"], p["y"]),
    "kappa": lambda t, p, **k: m.cohen_kappa_score(p["y"].values, t["y"].values),
    "kappa_linear": lambda t, p, **k: m.cohen_kappa_score(p["y"].values, t["y"].values, weights="linear"),
    "kappa_quadratic": lambda t, p, **k: m.cohen_kappa_score(p["y"].values, t["y"].values, weights="quadratic"),
    "roc_auc": lambda t, p, **k: m.roc_auc_score(t["y"].to_numpy(), p["y"].to_numpy()),
    "log_loss": lambda t, p, **k: m.log_loss(t["y"].to_numpy(), p["y"].to_numpy()),
    "log_loss_classes": lambda t, p, **k: m.log_loss(t.to_numpy(), p.to_numpy()),
    "rmse": lambda t, p, **k: m.root_mean_squared_error(t["y"], p["y"]),
    "rmsle": lambda t, p, **k: m.root_mean_squared_log_error(t["y"], p["y"]),
}


def record(file, metric, truth, pred):
    t, p = read(truth), read(pred)
    try:
        s = METRICS[metric](t, p)
        row = {"score": repr(float(s)), "rounded": repr(float(round(s, 5)))}
    except Exception:
        row = {"score": None}
    file.write(json.dumps({"metric": metric, "answers": truth, "submission": pred, **row}) + "\n")


def csv(*values):
    return "y\n" + "".join(f"{v}\n" for v in values)


with open(f"{out}/metrics.jsonl", "w") as f:
    for n in (2, 7, 20, 130):
        truth = [0, 1] + list(rng.integers(0, 2, n - 2))
        for scores in (rng.random(n), rng.random(n).round(1), -rng.random(n) * 1e300, rng.integers(0, 2, n),
                       np.full(n, 0.5), np.array(truth), 1 - np.array(truth), rng.integers(2**62, 2**62 + 9, n)):
            record(f, "roc_auc", csv(*truth), csv(*scores))
        for p in (rng.random(n), np.full(n, 0.5), np.array(truth), 1 - np.array(truth), rng.random(n) * 1e-300):
            record(f, "log_loss", csv(*truth), csv(*p))
        one = np.eye(4, dtype=int)[rng.integers(0, 4, n)]
        for p in (rng.dirichlet(np.ones(4), n), np.full((n, 4), 0.25), one, one[:, ::-1], rng.random((n, 4))):
            table = lambda a: "a,b,c,d\n" + "".join(",".join(map(str, r)) + "\n" for r in a)
            record(f, "log_loss_classes", table(one), table(p))
        grades = list(rng.integers(0, 5, n))
        for p in (grades, rng.integers(0, 5, n), rng.integers(0, 3, n) * 1000, np.full(n, 2), [float(g) for g in grades],
                  rng.random(n), rng.integers(2**62, 2**62 + 3, n)):
            for metric in ("accuracy", "f1_macro", "f1_micro", "f1_integer", "matthews", "kappa", "kappa_linear", "kappa_quadratic"):
                if n < 100 or metric == "kappa_quadratic":
                    record(f, metric, csv(*grades), csv(*p))
        y = rng.random(n) * 100
        for p in (y, y + rng.normal(size=n), np.zeros(n), rng.integers(0, 200, n), np.full(n, 1e200), -y, np.full(n, -0.0)):
            for metric in ("rmse", "rmsle", "mae"):
                record(f, metric, csv(*y), csv(*p))
    long = rng.random(9000).round(2)
    record(f, "rmse", csv(*long), csv(*np.roll(long, 1)))
    odd = ["1", "0", "2.0", "1.5", "", "inf", "-inf", "1e400", "x", "True", "False", "99999999999999999999", "1_0", " 1 ",
           "-5e-324", "18446744073709551615", "NA", "0x1", "007", "\u0663_1", "+7", "_1"]
    for metric in METRICS:
        if metric == "log_loss_classes":
            continue
        truths = [csv(0, 1, 1, 0)]
        if metric not in ("log_loss", "roc_auc", "rmse", "rmsle", "mae"):
            truths += [csv(0, 1, 2, 0), csv("a", "b", "b", "a"), csv("a", "b", "c", "a"), csv("True", "False", "True", "True")]
        for truth in truths:
            for a in odd:
                record(f, metric, truth, f'y\n"{a}"\n1\n1\n0\n')
                record(f, metric, truth, f'y\n"{a}"\n"{a}"\n"{a}"\n"{a}"\n')
                record(f, metric, truth, f'y\na\n"{a}"\nc\nb\n')
        record(f, metric, csv(1, 1, 1), csv(1, 0, 1))
        record(f, metric, csv(0, 1), csv(1, 0, 1))
        record(f, metric, csv(0, 1), "y\n")

with open(f"{out}/sort.jsonl", "w") as f:
    for n in (1, 2, 16, 17, 18, 60, 400, 1500):
        for distinct in (2, max(2, n // 9), n):
            keys = [f"k{v}" for v in rng.integers(0, distinct, n)]
            if n % 3 == 0:
                keys[n // 2] = None
            order = pd.DataFrame({"k": pd.Series(keys, dtype=object)}).sort_values("k").index
            f.write(json.dumps({"keys": keys, "order": order.tolist()}) + "\n")
    for keys in (sorted(f"{v:04}" for v in range(200)), ["x"] * 100, ["b", "a"] * 90, [f"{abs(500 - v):04}" for v in range(1000)]):
        order = pd.DataFrame({"k": pd.Series(keys, dtype=object)}).sort_values("k").index
        f.write(json.dumps({"keys": keys, "order": order.tolist()}) + "\n")

with open(f"{out}/rounding.csv", "w") as f:
    f.write("value,numpy,python\n")
    values = [0.078125, 0.000005, 0.000015, 2.675, 1e-9, -0.000005, 36.04365338911715, 1e10 / 3, 5e-324, 1e22, 0.5]
    values += list(rng.random(300).round(6)) + list((rng.random(100) * 1000).round(6)) + list(rng.random(50) * 1e12)
    for v in values:
        f.write(f"{float(v)!r},{float(round(np.float64(v), 5))!r},{round(float(v), 5)!r}\n")
