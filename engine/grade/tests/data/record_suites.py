"""Records the scores of metrics that other suites of competitions use, by scikit-learn, SciPy or a definition in NumPy.

usage: NPY_DISABLE_CPU_FEATURES="AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL" record_suites.py OUTPUT_FILE
With this variable, NumPy sorts as on processors without AVX-512.

The tables are not recorded: a line has a seed, and both this script and `tests/suites.rs` draw each case from it. The
description of a column lists pools, and a case draws one of them. Each cell of the column is then an element of this
pool. For `list:POOL:SEPARATOR:MOST` and `list:POOL:SEPARATOR:=LENGTH`, a cell is several elements of POOL, joined by
SEPARATOR: 1 to MOST elements, or exactly LENGTH. For `same`, a cell is a copy of the cell in the answers.
"""
import io, json, sys, warnings
import numpy as np, pandas as pd
from scipy import stats
from sklearn import metrics as m

warnings.simplefilter("ignore")
MASK = 2**64 - 1
CASES = 220
ROWS = [1, 2, 3, 5, 8, 9, 17, 40, 150]


class Draw:
    """SplitMix64."""
    def __init__(self, seed):
        self.state = seed & MASK

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % n


fine = [f"0.{v:03}" for v in np.random.default_rng(3).integers(1, 1000, 40)]
odd = ["", "inf", "-inf", "x", "True", "1e400", "nan", "1_0"]
POOLS = {
    "fine": fine, "tied": ["0.1", "0.3", "0.5", "0.9"], "near": ["0.3", "0.30000000000000004", "0.29999999999999993"], "bits": ["0", "1"],
    "signs": ["-1", "1"], "ones": ["1"], "zeros": ["0"], "halves": ["0.5"], "counts": [str(v) for v in range(12)], "some": ["0", "0", "3", "2.5", "-0.0"],
    "signed": ["-" + v for v in fine[:9]] + fine[9:20], "tiny": ["5e-324", "1e-300", "-1e-300", "2.5e-310"], "huge": ["1.7976931348623157e308", "-1e308", "1e200", "1e154"],
    "spoiled": fine[:30] + odd[:4], "odd": odd + fine[:4], "bools": ["True", "False"], "ab": ["a", "b"], "abc": ["a", "b", "c"], "low": ["1", "2"], "five": ["5"],
    "labels": ["0", "1", "2", "3"], "floats": ["0.0", "1.0", "2.0"], "bad_labels": ["0", "1", "2", "1.5", "", "x"], "weights": ["0", "1", "0.5", "2", "0.1", "7"],
    "bad_weights": ["0", "1", "1", "1", "-1"], "words": list("pqrstuv"), "ranks": ["1", "2", "3", "4", "5", "2"], "two": ["p", "q"], "images": ["i1", "i2", "i3"], "one_image": ["i1"],
    "masks": ["1 4", "1 2", "3 4", "2 3", "9 8", "10 6", "20 5", "21 5", "22 5", "", "1 40", "30 2 40 3", "30 2", "1 2 3"], "empty": [""],
    "spans": ["0 5", "3 9", "7 8", "0 5", "100 120", "110 115", "5 7"], "bad_spans": ["0 5", "5 3", "x", "-1 2"],
    "boxes": ["0.9 0 0 4 4", "0.8 1 0 4 4", "0.8 0 1 4 5", "0.5 10 10 4 4", "0.4 10 11 4 4", "0.3 10 10 5 4", "0.1 0 0 0 0", "1 0 0 4 4"], "bad_boxes": ["0.9 0 0 4 4", "0.9 0 0 nan 4", "1 2 3"],
}
REAL = ["fine", "fine", "tied", "signed", "counts", "some", "zeros", "tiny", "huge", "near", "same", "spoiled"]
PROBABILITIES = ["fine", "fine", "tied", "bits", "halves", "near", "zeros", "same", "tiny", "spoiled"]
SCORES = ["fine", "tied", "near", "signed", "huge", "bits", "same", "bools", "spoiled", "odd"]
LABELS = ["labels", "bits", "same", "abc", "floats", "bools", "low", "bad_labels"]
BINARY = ["bits", "bits", "bits", "ones", "zeros", "signs", "low", "bools", "ab", "labels"]
WEIGHTS = ["weights", "weights", "weights", "ones", "zeros", "bad_weights", "spoiled", "halves"]
LISTS = ["list:words: :6", "list:two: :2", "words", "same"]


def cell(draw, pool, other):
    if pool == "same":
        return other
    if pool.startswith("list:"):
        _, name, separator, most = pool.split(":")
        length = 1 + draw.below(int(most)) if most.isdigit() else int(most[1:])
        return separator.join(POOLS[name][draw.below(len(POOLS[name]))] for _ in range(length))
    return POOLS[pool][draw.below(len(POOLS[pool]))]


def table(draw, columns, rows, other=None):
    drawn = {}
    for name, pools in sorted(columns.items()):
        pool = pools[draw.below(len(pools))]
        drawn[name] = [cell(draw, pool, other[name][row] if other else "") for row in range(rows)]
    return drawn


def csv(columns):
    rows = zip(*columns.values())
    return ",".join(columns) + "\n" + "".join(",".join(f'"{c}"' for c in row) + "\n" for row in rows)


def read(columns):
    return pd.read_csv(io.StringIO(csv(columns)), float_precision="round_trip")


def need(condition):
    if not condition:
        raise ValueError


def weights(t):
    w = t["w"].to_numpy(dtype=float) if t["w"].dtype != object else np.array([float(v) for v in t["w"]])
    need(np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0)
    return w


def regression(metric, weighted=False):
    return lambda t, p: metric(t["y"], p["y"], sample_weight=weights(t) if weighted else None)


def numbers(t, p, names=("y",)):
    found = []
    for side in (t, p):
        need(not any(isinstance(v, float) and np.isnan(v) for n in names for v in side[n]))
        found.append(np.concatenate([np.array([float(v) for v in side[n]]) for n in names]))
        need(np.isfinite(found[-1]).all())
    need(not any(t[n].dtype == bool and p[n].dtype == bool for n in names))
    return found


def smape(t, p):
    a, b = numbers(t, p)
    size = np.abs(a) + np.abs(b)
    return np.mean(np.where(size == 0, 0, 200 * np.abs(a - b) / np.where(size == 0, 1, size)))


def rmspe(t, p):
    a, b = numbers(t, p)
    keep = a != 0
    return np.sqrt(np.mean(((a[keep] - b[keep]) / a[keep]) ** 2))


def rmspe_weighted(t, p):
    w = weights(t)
    a, b = numbers(t, p)
    keep = a != 0
    return np.sqrt(np.sum(((a[keep] - b[keep]) / a[keep]) ** 2 * w[keep]) / np.sum(w[keep]))


def mae_by_rows(t, p):
    w = weights(t)
    a, b = numbers(t, p)
    return np.sum(w * np.abs(a - b)) / len(a)


def clipped(t, p):
    a, b = numbers(t, p)
    return m.root_mean_squared_log_error(a, np.maximum(b, 0))


def gini(kind):
    def score(t, p):
        a, b = both = np.array(numbers_or_bools(t["y"])), np.array(numbers_or_bools(p["y"]))
        need(all(np.isfinite(v).all() for v in both) and len(np.unique(a)) > 1 and a.sum() != 0)
        def of(by):
            order = {"stable": lambda: np.argsort(-by, kind="stable"), "quicksort": lambda: np.argsort(-by), "reversed_quicksort": lambda: np.argsort(by)[::-1]}[kind]()
            return (np.cumsum(a[order]).sum() / a.sum() - (len(a) + 1) / 2) / len(a)
        return of(b) / of(a)
    return score


def numbers_or_bools(values):
    return [float(v) for v in values]


def classes(t, p, normalise=False):
    y, q = (np.array([numbers_or_bools(side[c]) for c in "abc"]).T for side in (t, p))
    need(np.isfinite(y).all() and np.isfinite(q).all())
    if normalise:
        sums = q.sum(axis=1)
        need((sums > 0).all() and np.isfinite(sums).all())
        q = q / sums[:, None]
    return y, q


def log_loss(eps, normalise):
    def score(t, p):
        y, q = classes(t, p, normalise)
        return np.mean(-(y * np.log(np.clip(q, eps, 1 - eps))).sum(axis=1))
    return score


def log_loss_clipped_first(t, p):
    y, q = (np.array([numbers_or_bools(side[c]) for c in "abc"]).T for side in (t, p))
    need(np.isfinite(y).all() and not np.isnan(q).any())
    q = np.clip(q, 1e-15, 1 - 1e-15)
    return m.log_loss(y, q / q.sum(axis=1)[:, None])


def log_loss_clipped_first_of_one(t, p):
    q = numbers_or_bools(p["y"])
    need(len(set(t["y"])) == 2 and t["y"].dtype != object and not np.isnan(q).any())
    return m.log_loss(t["y"], np.clip(q, 1e-15, 1 - 1e-15))


def balanced_log_loss(t, p):
    y, q = classes(t, p, True)
    need((y.sum(axis=0) > 0).all())
    losses = -np.log(np.clip(q, 1e-15, 1 - 1e-15))
    return np.mean([losses[y[:, k] == 1, k].mean() for k in range(3)])


def weighted_log_loss(t, p):
    need(len(set(t["y"])) == 2 and t["y"].dtype != object)
    return m.log_loss(t["y"], p["y"], sample_weight=weights(t))


def weighted_auc(t, p):
    score = m.roc_auc_score(t["y"].to_numpy(), p["y"].to_numpy(), sample_weight=weights(t))
    need(not np.isnan(score))
    return score


def average_precision(weighted):
    def score(t, p):
        need(len(set(t["y"])) <= 2)
        return m.average_precision_score(t["y"].to_numpy(), p["y"].to_numpy(), sample_weight=weights(t) if weighted else None)
    return score


def brier(weighted):
    def score(t, p):
        need(len(t) == len(p))
        return m.brier_score_loss(t["y"].to_numpy(), p["y"].to_numpy(), sample_weight=weights(t) if weighted else None)
    return score


def lists(t, p, k, value):
    rows = []
    for a, b in zip(t["y"], p["y"]):
        rows.append(value(*ranks(str(a).split(" "), str(b).split(" "), k)))
    return np.mean(rows)


def ranks(correct, guesses, k):
    found, seen = [], set()
    for rank, guess in enumerate(guesses[:k], 1):
        if guess in correct and guess not in seen:
            found.append(rank)
        seen.add(guess)
    return found, min(k, len(set(correct)))


def ndcg(found, possible):
    """Returns scikit-learn's score for a ranking that consists of the guesses, followed by all other items."""
    most = max([possible, *found])
    relevance = np.array([[1 if rank in found else 0 for rank in range(1, most + 1)] + [1] * (possible - len(found)) + [0, 0]])
    score = -np.arange(relevance.shape[1], dtype=float)[None]
    ideal = -np.sort(-relevance)
    ideal[0, possible:] = 0
    return m.dcg_score(relevance, score, k=most) / m.dcg_score(ideal, score)


def reciprocal(found, possible):
    return 1 / found[0] if found else 0.0


def hit(found, possible):
    return float(bool(found))


def by_id(t, p, k, value):
    need(set(t["id"]) == set(p["id"]))
    rows = []
    for one in t["id"].unique():
        rows.append(value(*ranks([str(v) for v in t["y"][t["id"] == one]], [str(v) for v in p["y"][p["id"] == one]], k)))
    return np.mean(rows)


def top_k(t, p):
    y, q = classes(t, p)
    need(((y != 0).sum(axis=1) == 1).all())
    return m.top_k_accuracy_score((y != 0).argmax(axis=1), q, k=2, labels=[0, 1, 2])


def spearman_of_cells(t, p):
    rows = []
    for a, b in zip(t["y"], p["y"]):
        a, b = ([float(v) for v in str(side).split()] for side in (a, b))
        need(len(a) == len(b) and np.isfinite(a + b).all())
        rows.append(stats.spearmanr(a, b).statistic if len(a) > 1 else np.nan)
    return np.mean(rows)


def spearman_of_rows(t, p):
    y, q = classes(t, p)
    return np.mean([stats.spearmanr(a, b).statistic for a, b in zip(y, q)])


def f1(average, **options):
    return lambda t, p: m.f1_score(t["y"].to_numpy(), p["y"].to_numpy(), average=average, **options)


def f1_columns(average):
    def score(t, p):
        y, q = classes(t, p)
        need(np.isin(y, (0, 1)).all() and np.isin(q, (0, 1)).all())
        return m.f1_score(y.astype(int), q.astype(int), average=average)
    return score


def f1_of_rows(t, p):
    rows = [[set(str(v).split()) for v in side["y"]] for side in (t, p)]
    return np.mean([2 * len(a & b) / (len(a) + len(b)) for a, b in zip(*rows)])


def spans(t, p):
    y, q = [], []
    for a, b in zip(t["y"], p["y"]):
        marks = np.zeros((2, 130), int)
        for mark, text in zip(marks, (a, b)):
            for span in [] if isinstance(text, float) else str(text).split(";"):
                start, end = map(int, span.split())
                need(0 <= start < end)
                mark[start:end] = 1
        y.append(marks[0])
        q.append(marks[1])
    return m.f1_score(np.concatenate(y), np.concatenate(q))


def iou_matches(ious, threshold):
    taken = set()
    for row in ious:
        best = [(iou, -k) for k, iou in enumerate(row) if iou > threshold and k not in taken]
        if best:
            taken.add(-max(best)[1])
    return len(taken)


def mask(code):
    pixels = np.zeros(60, bool)
    numbers = [int(v) for v in code.split()]
    need(len(numbers) % 2 == 0 or len(numbers) == 1 or len(numbers) == 3)
    starts, lengths = numbers[::2], numbers[1::2]
    if len(lengths) == 1 and len(starts) == 2:
        lengths = lengths * 2
    last = 0
    for start, length in zip(starts, lengths):
        need(start > last)
        pixels[start - 1 : start - 1 + length] = True
        last = start - 1 + length
    return pixels


def objects(t, p):
    need(set(t["id"]) == set(p["id"]) and t["y"].dtype != float or t["y"].isna().all())
    scores = []
    for one in t["id"].unique():
        a, b = ([mask(v) for v in side["y"][side["id"] == one] if not isinstance(v, float)] for side in (t, p))
        if not a and not b:
            scores.append(1.0)
            continue
        ious = [[(x & y).sum() / (x | y).sum() for y in a] for x in b]
        hits = [iou_matches(ious, threshold) for threshold in (0.3, 0.5, 0.7)]
        scores.append(np.mean([5 * h / (4 * len(a) + len(b)) for h in hits]))
    return np.mean(scores)


def box_iou(a, b):
    width = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    height = min(a[2] + a[4], b[2] + b[4]) - max(a[2], b[2])
    both = max(0, width) * max(0, height)
    union = a[3] * a[4] + b[3] * b[4] - both
    return both / union if union > 0 else 0.0


def precision_of_boxes(t, p):
    scores = []
    for a, b in zip(t["y"], p["y"]):
        sides = []
        for text in (a, b):
            values = [] if isinstance(text, float) else [float(v) for v in text.split()]
            need(len(values) % 5 == 0 and np.isfinite(values).all())
            sides.append([values[k : k + 5] for k in range(0, len(values), 5)])
        a, b = sides
        if not a and not b:
            scores.append(0.0)
            continue
        b = sorted(b, key=lambda box: -box[0])
        ious = [[box_iou(x, y) for y in a] for x in b]
        hits = [iou_matches(ious, threshold) for threshold in (0.5, 0.75)]
        scores.append(np.mean([h / (len(a) + len(b) - h) for h in hits]))
    return np.mean(scores)


def pooled(metric):
    return lambda t, p: metric(*numbers(t, p, "abc"))


def mean_of(metric):
    return lambda t, p: np.mean([metric(t[c].to_numpy(), p[c].to_numpy()) for c in "abc"])


Y, YW, ABC = (lambda pools: {"y": pools}), (lambda pools: {"y": pools, "w": WEIGHTS}), (lambda pools: {c: pools for c in "abc"})
PLAIN = [v for v in REAL if v not in ("huge", "spoiled")]
one_hot = ["one_hot"]
every = {"all_except": []}
w = {"columns": "y", "row_weights": "w"}
LINES = [
    ({"r2": "y"}, Y(REAL), Y(REAL), regression(m.r2_score)),
    ({"r2": w}, YW(REAL), Y(REAL), regression(m.r2_score, True)),
    ({"r2": {"columns": every, "pooled": True}}, ABC(PLAIN), ABC(PLAIN), pooled(m.r2_score)),
    ({"mean_absolute_percentage_error": "y"}, Y(REAL), Y(REAL), regression(m.mean_absolute_percentage_error)),
    ({"mean_absolute_percentage_error": w}, YW(REAL), Y(REAL), regression(m.mean_absolute_percentage_error, True)),
    ({"median_absolute_error": "y"}, Y(REAL), Y(REAL), regression(m.median_absolute_error)),
    ({"median_absolute_error": w}, YW(REAL), Y(REAL), regression(m.median_absolute_error, True)),
    ({"mean_absolute_error": w}, YW(REAL), Y(REAL), regression(m.mean_absolute_error, True)),
    ({"mean_absolute_error": {**w, "divide_by": "rows"}}, YW(REAL), Y(REAL), mae_by_rows),
    ({"root_mean_squared_error": w}, YW(REAL), Y(REAL), regression(m.root_mean_squared_error, True)),
    ({"root_mean_squared_error": {"columns": "y", "squared": True}}, Y(REAL), Y(REAL), regression(m.mean_squared_error)),
    ({"root_mean_squared_error": {"columns": every, "pooled": True}}, ABC(PLAIN), ABC(PLAIN), pooled(m.root_mean_squared_error)),
    ({"root_mean_squared_log_error": w}, YW(REAL), Y(REAL), regression(m.root_mean_squared_log_error, True)),
    ({"root_mean_squared_log_error": {"columns": "y", "clip_below": 0}}, Y(REAL), Y(REAL), clipped),
    ({"smape": "y"}, Y(REAL), Y(REAL), smape),
    ({"root_mean_squared_percentage_error": "y"}, Y(REAL), Y(REAL), rmspe),
    ({"root_mean_squared_percentage_error": w}, YW(REAL), Y(REAL), rmspe_weighted),
    ({"normalised_gini": "y"}, Y(PLAIN), Y(SCORES), gini("stable")),
    ({"log_loss": {"columns": every, "eps": 1e-15}}, ABC(one_hot), ABC(PROBABILITIES), log_loss(1e-15, False)),
    ({"log_loss": {"columns": every, "eps": 1e-15, "normalise": True}}, ABC(one_hot), ABC(PROBABILITIES), log_loss(1e-15, True)),
    ({"log_loss": w}, YW(["bits"]), Y(PROBABILITIES), weighted_log_loss),
    ({"balanced_log_loss": every}, ABC(one_hot), ABC(PROBABILITIES), balanced_log_loss),
    ({"brier": "y"}, Y(BINARY), Y(PROBABILITIES + ["odd"]), brier(False)),
    ({"brier": w}, YW(["bits"]), Y(PROBABILITIES), brier(True)),
    ({"average_precision": "y"}, Y(BINARY), Y(SCORES), average_precision(False)),
    ({"average_precision": w}, YW(["bits"]), Y(SCORES), average_precision(True)),
    ({"roc_auc": w}, YW(["bits"]), Y(SCORES), weighted_auc),
    ({"accuracy": {"column": "y", "row_weights": "w"}}, YW(["labels", "bits"]), Y(["labels", "bits", "same", "floats"]), regression(m.accuracy_score, True)),
    ({"balanced_accuracy": "y"}, Y(["labels", "bits", "abc", "low"]), Y(LABELS), lambda t, p: m.balanced_accuracy_score(t["y"].to_numpy(), p["y"].to_numpy())),
    ({"balanced_accuracy": every}, ABC(["labels", "bits"]), ABC(["labels", "same", "floats", "bad_labels"]), mean_of(m.balanced_accuracy_score)),
    ({"f1": {"column": "y", "average": "binary"}}, Y(BINARY), Y(["bits", "bits", "same", "same", "labels", "ab", "ones", "zeros", "bools", "five"]), f1("binary")),
    ({"f1": {"column": "y", "average": "binary", "positive": "b"}}, Y(["ab"]), Y(["ab", "same", "abc", "bits"]), f1("binary", pos_label="b")),
    ({"f1": {"column": "y", "average": "weighted"}}, Y(["labels", "bits", "abc"]), Y(LABELS), f1("weighted")),
    *(({"f1": {"columns": every, "average": average}}, ABC(["bits", "bits", "zeros", "ones"]), ABC(["bits", "same", "floats", "zeros", "bools"]), f1_columns(average))
      for average in ("samples", "micro", "macro", "weighted")),
    ({"f1_of_words": {"column": "y", "average": "rows"}}, Y(LISTS[:3]), Y(LISTS), f1_of_rows),
    ({"f1_of_spans": "y"}, Y(["list:spans:;:3", "spans"]), Y(["list:spans:;:3", "spans", "same", "empty", "bad_spans"]), spans),
    ({"average_precision_at_k": {"column": "y", "k": 3, "id": "id"}}, {"id": ["images", "one_image"], "y": ["words"]}, {"id": ["images", "one_image", "same"], "y": ["words", "two"]},
     lambda t, p: by_id(t, p, 3, lambda found, possible: sum(n / r for n, r in enumerate(found, 1)) / possible)),
    ({"ndcg_at_k": {"column": "y", "k": 3}}, Y(LISTS[:3]), Y(LISTS), lambda t, p: lists(t, p, 3, ndcg)),
    ({"ndcg_at_k": {"column": "y", "k": 2, "id": "id"}}, {"id": ["images", "one_image"], "y": ["words"]}, {"id": ["images", "one_image", "same"], "y": ["words", "two"]}, lambda t, p: by_id(t, p, 2, ndcg)),
    ({"mean_reciprocal_rank": {"column": "y"}}, Y(LISTS[:3]), Y(LISTS), lambda t, p: lists(t, p, 10**6, reciprocal)),
    ({"top_k_accuracy": {"column": "y", "k": 2}}, Y(["words"]), Y(LISTS), lambda t, p: lists(t, p, 2, hit)),
    ({"top_k_accuracy": {"columns": every, "k": 2}}, ABC(one_hot), ABC(["fine", "tied", "bits", "same", "spoiled", "signed"]), top_k),
    ({"spearman": {"columns": "y", "per_row": True}}, Y(["list:ranks: :=5", "list:counts: :=3", "list:ranks: :=5", "ranks"]), Y(["list:ranks: :=5", "list:counts: :=3", "list:fine: :=5", "same", "words"]), spearman_of_cells),
    ({"spearman": {"columns": every, "per_row": True}}, ABC(["fine", "counts"]), ABC(["fine", "same", "counts", "near", "huge", "spoiled"]), spearman_of_rows),
    ({"f_beta_of_objects": {"column": "y", "id": "id", "width": 6, "height": 10, "thresholds": [0.3, 0.5, 0.7], "beta": 2}}, {"id": ["images", "one_image"], "y": ["masks"]},
     {"id": ["images", "one_image", "same", "same"], "y": ["masks", "same", "empty"]}, objects),
    ({"precision_of_boxes": {"column": "y", "fields": ["confidence", "x_min", "y_min", "width", "height"], "thresholds": [0.5, 0.75], "both_empty": "zero"}},
     Y(["list:boxes: :3", "boxes", "empty"]), Y(["list:boxes: :4", "boxes", "same", "empty", "bad_boxes"]), precision_of_boxes),
    *(({"normalised_gini": {"columns": "y", "ties": ties}}, Y(PLAIN), Y(["tied", "bits", "counts", "fine", "near"]), gini(ties)) for ties in ("quicksort", "reversed_quicksort")),
    ({"log_loss": {"columns": every, "normalise": True, "clip_first": 1e-15}}, ABC(one_hot), ABC(PROBABILITIES), log_loss_clipped_first),
    ({"log_loss": {"columns": "y", "clip_first": 1e-15}}, Y(["bits"]), Y(PROBABILITIES), log_loss_clipped_first_of_one),
]


def one_hot_of(columns, draw, rows):
    """Returns cells for the columns of pool `one_hot`: each row has a 1 in one of these columns."""
    hot = [draw.below(3) for _ in range(rows)]
    return {c: [str(int(h == k)) for h in hot] for k, c in enumerate(columns)}


with open(sys.argv[1], "w") as file:
    file.write(json.dumps({"pools": POOLS, "rows": ROWS}, separators=(",", ":")) + "\n")
    for seed, (metric, answers, submission, score) in enumerate(LINES):
        scores, valid = [], 0
        for case in range(CASES):
            draw = Draw(seed * 1000 + case)
            rows = ROWS[draw.below(len(ROWS))]
            hot = list(answers.values())[0] == one_hot
            truth = one_hot_of(answers, draw, rows) if hot else table(draw, answers, rows)
            predicted = table(draw, submission, rows, truth)
            try:
                value = repr(float(score(read(truth), read(predicted))))
            except Exception:
                value = None
            scores.append(value)
            valid += value not in (None, "nan")
        line = {"metric": metric, "answers": answers, "submission": submission, "scores": " ".join("-" if v is None else v for v in scores)}
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{valid:4} of {CASES} have a score: {json.dumps(metric)}")
