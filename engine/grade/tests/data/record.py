"""Records results of pandas, NumPy and scikit-learn for the tests of this crate. Needs the versions named in README.md.

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


def columns(metric, **options):
    """Returns a function of two tables: the unweighted mean of `metric` over their columns.

    Columns are paired by name, or by position if the option `position` is true.
    """
    def score(t, p, **k):
        names = t.columns if not options.get("position") else p.columns
        return np.mean([metric(t[a].to_numpy(), p[b].to_numpy()) for a, b in zip(t.columns, names, strict=True)])
    return score


def mean_angular_error(t, p, **k):
    """Computes the competition's own formula, because scikit-learn has no such metric."""
    values = [np.asarray(side[name], dtype=float) for side in (t, p) for name in ("azimuth", "zenith")]
    if not all(np.isfinite(value).all() for value in values) or not len(t) or len(t) != len(p):
        raise ValueError
    a1, z1, a2, z2 = values
    cosine = np.sin(z1) * np.sin(z2) * (np.cos(a1) * np.cos(a2) + np.sin(a1) * np.sin(a2)) + np.cos(z1) * np.cos(z2)
    return np.mean(np.abs(np.arccos(np.clip(cosine, -1, 1))))


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
    "roc_auc_columns": columns(m.roc_auc_score),
    "roc_auc_position": columns(m.roc_auc_score, position=True),
    "rmse_columns": columns(m.root_mean_squared_error),
    "rmsle_columns": columns(m.root_mean_squared_log_error),
    "mean_angular_error": mean_angular_error,
}
OF_SEVERAL_COLUMNS = ("log_loss_classes", "roc_auc_columns", "roc_auc_position", "rmse_columns", "rmsle_columns", "mean_angular_error")


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
        if metric in OF_SEVERAL_COLUMNS:
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

    # Tables of several columns: random, tied, degenerate and extreme values. Then tables with one odd cell, in each column
    # in turn.
    draw = np.random.default_rng(8)
    tiny, huge, next_to = 5e-324, 1.7976931348623157e308, np.nextafter(0.3, 1)

    def table(names, rows):
        return ",".join(names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)

    for n in (2, 9, 60):
        labels = draw.integers(0, 2, (n, 3))
        labels[:2] = [[0, 1, 0], [1, 0, 1]]
        for p in (draw.random((n, 3)), draw.random((n, 3)).round(1), np.full((n, 3), 0.5), labels, 1 - labels,
                  draw.choice([0.3, next_to, tiny, -tiny, 0.0, -0.0, huge, -huge], (n, 3)), draw.random((n, 2))):
            names = "abc"[: p.shape[1]]
            record(f, "roc_auc_columns", table("abc", labels), table(names, p.tolist()))
            record(f, "roc_auc_columns", table("abc", labels), table(names[::-1], p.tolist()))
            record(f, "roc_auc_position", table("abc", labels), table([f"class_{k}" for k in names], p.tolist()))
        one_sided = labels.copy()
        one_sided[:, 1] = 1
        record(f, "roc_auc_columns", table("abc", one_sided), table("abc", draw.random((n, 3)).tolist()))
        truth = draw.random((n, 2)) * [1, 1000]
        for p in (truth, truth + draw.random((n, 2)), np.zeros((n, 2)), np.full((n, 2), tiny), np.full((n, 2), 1e160), np.full((n, 2), huge),
                  draw.integers(0, 9, (n, 2)), truth - 0.5, np.full((n, 2), -0.0), truth[:, ::-1]):
            for metric in ("rmse_columns", "rmsle_columns"):
                record(f, metric, table("ab", truth.tolist()), table("ab", p.tolist()))
        sky = draw.random((n, 2)) * [2 * np.pi, np.pi]
        opposite = (sky + [np.pi, 0]) * [1, -1] + [0, np.pi]
        for p in (sky, draw.random((n, 2)) * 6, np.zeros((n, 2)), np.ones((n, 2), int), opposite, sky + 2 * np.pi, -sky, np.full((n, 2), tiny),
                  draw.choice([1e300, -1e300, huge, 1e22, 1e5], (n, 2)), draw.integers(-(2**62), 2**62, (n, 2))):
            record(f, "mean_angular_error", table(["azimuth", "zenith"], sky.tolist()), table(["azimuth", "zenith"], p.tolist()))
        one = np.eye(3, dtype=int)[draw.integers(0, 3, n)]
        for p in (np.full((n, 3), tiny), np.full((n, 3), 1e-300), np.zeros((n, 3)), np.full((n, 3), huge), draw.choice([0, 1, 1e-17, 1 - 1e-16], (n, 3)),
                  -draw.random((n, 3)), draw.random((n, 3)) * 2):
            record(f, "log_loss_classes", table("abc", one), table("abc", p.tolist()))
    for metric in OF_SEVERAL_COLUMNS:
        names = ["azimuth", "zenith"] if metric == "mean_angular_error" else ["a", "b"]
        truth = [[0, 1], [1, 0], [0, 1], [1, 0]]
        for cell in odd:
            for column in (0, 1):
                p = [[0.25, 0.75], [0.5, 0.5], [0.125, 0.875], [1, 0]]
                p[1][column] = f'"{cell}"'
                record(f, metric, table(names, truth), table(names, p))
        record(f, metric, table(names, truth), table(names, truth[1:]))
        record(f, metric, table(names, truth), table(names, []))
        record(f, metric, table(names, truth[:1]), table(names, truth[:1]))
    # Integers that doubles cannot represent exactly, such as times in nanoseconds.
    for n in (2, 5, 40):
        for low in (2**60, -(2**61), 2**53 - 3):
            y, p = draw.integers(low, low + 1000, (2, n))
            for metric in ("mae", "rmse"):
                record(f, metric, csv(*y), csv(*p))
                record(f, metric, csv(*y), csv(*y))

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
