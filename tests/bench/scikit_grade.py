#!/usr/bin/env python3
"""Scores submissions with pandas and scikit-learn, for `bench.py grading`.

  scikit_grade.py PIPELINES DATA_DIR < LIST.jsonl
  scikit_grade.py PIPELINES

LIST has the format of the list for `prep grade`. The script matches rows by `align` in the pipeline's `grade` section. It
ignores the other rules, so it does less work than `prep`.

Prints JSON: CPU seconds without the imports, and a score or null for each submission. Without DATA_DIR, prints the
competitions whose metrics it supports. Needs pandas 2.2, scikit-learn 1.5 and PyYAML.
"""
import functools, json, sys, time, warnings
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from sklearn import metrics

pipelines, *rest = map(Path, sys.argv[1:])
warnings.simplefilter("ignore")


def read(path):
    return pd.read_csv(path, float_precision="round_trip")


@functools.cache
def competition(name):
    """Returns rules, metric and answers of a competition. Reads them only once."""
    grade = yaml.safe_load((pipelines / name / "pipeline.yaml").read_text())["grade"]
    return grade, read(rest[0] / name / "prepared" / grade["answers"])


def chosen(columns, table):
    """Returns the selected columns: one column, a list, or all columns except some."""
    if isinstance(columns, dict) and "all_except" in columns:
        left = columns["all_except"]
        return [name for name in table.columns if name not in (left if isinstance(left, list) else [left])]
    return columns if isinstance(columns, list) else [columns]


def labels(series, how):
    return {"column": series.to_numpy, "list": series.tolist, "text": lambda: series.astype(str).to_numpy()}[how]()


def mean_angular_error(answers, found, azimuth, zenith):
    a1, z1, a2, z2 = (side[name].to_numpy(dtype=float) for side in (answers, found) for name in (azimuth, zenith))
    cosine = np.sin(z1) * np.sin(z2) * (np.cos(a1) * np.cos(a2) + np.sin(a1) * np.sin(a2)) + np.cos(z1) * np.cos(z2)
    return np.mean(np.arccos(np.clip(cosine, -1, 1)))


OF_COLUMNS = {
    "roc_auc": metrics.roc_auc_score,
    "root_mean_squared_error": metrics.root_mean_squared_error,
    "root_mean_squared_log_error": metrics.root_mean_squared_log_error,
}

KNOWN = {"mean_angular_error", "log_loss", *OF_COLUMNS, "accuracy", "f1", "cohen_kappa"}


def score(metric, answers, found):
    (name, options), = metric.items()
    if not isinstance(options, dict) or "all_except" in options:
        options = {"columns": options}
    if name == "mean_angular_error":
        return mean_angular_error(answers, found, **options)
    names = chosen(options.get("columns", options.get("column")), answers)
    if name == "log_loss":
        return metrics.log_loss(answers[names].to_numpy().squeeze(), found[names].to_numpy().squeeze())
    if name in OF_COLUMNS:
        others = chosen(options["columns"], found) if options.get("match") == "position" else names
        return np.mean([OF_COLUMNS[name](answers[a].to_numpy(), found[b].to_numpy()) for a, b in zip(names, others, strict=True)])
    column, = names
    truth, labelled = (labels(side[column], options.get("labels_as", "column")) for side in (answers, found))
    if name == "accuracy":
        return metrics.accuracy_score(truth, labelled)
    if name == "f1":
        return metrics.f1_score(truth, labelled, average=options["average"])
    return metrics.cohen_kappa_score(labelled, truth, weights=options.get("weights"))


def grade(entry):
    section, answers = competition(entry["competition_id"])
    found = read(entry["submission_path"])
    if len(found) != len(answers):
        raise ValueError("another number of rows")
    align = [rule["align"] for rule in section.get("rules", []) if isinstance(rule, dict) and "align" in rule]
    for key in align[:1]:
        key = key["column"] if isinstance(key, dict) else key
        answers, found = answers.sort_values(key), found.sort_values(key)
        if answers[key].tolist() != found[key].tolist():
            raise ValueError("other ids")
    return float(score(section["metric"], answers, found))


if not rest:
    found = [path.parent.name for path in pipelines.glob("*/pipeline.yaml") if KNOWN & set(yaml.safe_load(path.read_text())["grade"]["metric"])]
    print(json.dumps(found))
    sys.exit()
scores = []
begin = time.process_time()
for line in sys.stdin:
    try:
        scores.append(grade(json.loads(line)))
    except Exception:
        scores.append(None)
print(json.dumps({"cpu": time.process_time() - begin, "scores": scores}))
