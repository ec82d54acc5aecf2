"""Records the results of MLE-bench's graders for random, tied, degenerate and broken submissions.

usage: record_graders.py SECTIONS OUTPUT [COUNT [SEED [ID...]]]

Needs the package `mlebench` (github.com/openai/mle-bench) and the versions named in README.md. SECTIONS is a directory with
ID.yaml (or ID/pipeline.yaml), whose `grade` section is written along with each submission.
"""
import io, json, random, sys, warnings
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from mlebench.utils import import_fn, read_csv

warnings.simplefilter("ignore")

ODD = ["", "nan", "inf", "-inf", "1e400", "x", "True", "False", "99999999999999999999", "1_0", " 1 ", "-5e-324", "18446744073709551615", "NA", "0x1",
       "007", "\u0663", "+7", "1.0", "0.5", "-0.0", "1", "0", "2", "-1", "1e-320", "1 2", " ", "a:b", "3:4", "YES", "\u00a0", "a", "1.7976931348623157e308",
       "2305843009213693951", "9223372036854775807", "\u0130", "\u03a3", "None", "1.5", "5,", "12 x"]
WORDS = ["a", "b", "c", "A", "\u0130", "i\u0307", "nan", "x1", "\u00fc", "zebra", "1", "2", "007", "\u03a3"]
WORD_ROWS = 9


def words(r, most=5, among=WORDS, sep=" "):
    return sep.join(r.choice(among) for _ in range(r.randint(0, most)))


def numbers(r, kind):
    """Returns a random value for a column of the kind `kind`."""
    return {"p": lambda: repr(r.random()), "tied": lambda: repr(round(r.random(), 1)), "bit": lambda: str(r.randint(0, 1)), "bool": lambda: str(r.random() < 0.5),
            "wide": lambda: repr(r.choice([-1, 1]) * 10 ** r.uniform(-320, 308)), "int": lambda: str(r.randint(-3, 9)), "half": lambda: repr(r.choice([0.5, 0.49999999999999994, 0.1, 0.9])),
            "below": lambda: repr(-r.random()), "above": lambda: str(r.randint(2, 4)), "big": lambda: str(r.randint(2**62, 2**62 + 3)), "huge": lambda: str(r.randint(2**63, 2**63 + 2)),
            "zero": lambda: "0", "same": lambda: "0.3"}[kind]()


NUMERIC = ["p", "tied", "bit", "bool", "wide", "int", "half", "below", "above", "big", "huge", "zero", "same"]


def numeric_column(r, n):
    kind = r.choice(NUMERIC)
    return [numbers(r, kind) for _ in range(n)]


def binary(r, n):
    return ["0", "1"] + [str(r.randint(0, 1)) for _ in range(n - 2)]


def table(ids, **columns):
    return {"id": ids, **columns}


def text_ids(r, n):
    return [f"id_{i:03}" for i in r.sample(range(900), n)]


def number_ids(r, n):
    return [str(i) for i in r.sample(range(900), n)]


# Each of these functions returns the columns of the answers and of a submission, as lists of strings.
def labels(r, n):
    kind = r.choice(["int", "text"])
    make = (lambda: str(r.randint(0, 4))) if kind == "int" else (lambda: r.choice("abcd"))
    return [make() for _ in range(n)], [make() for _ in range(n)] if r.random() < 0.8 else numeric_column(r, n)


def whole_labels(r, n):
    make = lambda: str(r.randint(0, 4))
    return [make() for _ in range(n)], [make() for _ in range(n)] if r.random() < 0.7 else numeric_column(r, n)


def first_labels(r, n):
    truth, guess = whole_labels(r, n)
    return truth, [f"{g} {r.randint(0, 9)}" for g in guess] if r.random() < 0.6 else guess


def scores(r, n):
    return binary(r, n), numeric_column(r, n)


def order(r, n):
    truth, guess = [], []
    for _ in range(n):
        items = r.sample(["a1", "b2", "c3", "d4", "e5", "f6", "9", "nan"], r.randint(1, 7))
        truth.append(" ".join(items))
        other = r.sample(items, len(items)) if r.random() < 0.97 else [r.choice(items) for _ in items]
        guess.append(" ".join(other))
    return truth, guess


def texts(r, n):
    sep = r.choice([" ", "  ", "\u00a0", "\t", " \x1f"])
    return [words(r) or "z" for _ in range(n)], [words(r, sep=sep) for _ in range(n)]


def full_texts(r, n):
    return [words(r) or "z" for _ in range(n)], [words(r) or "y" for _ in range(n)]


def tags(r, n):
    return [words(r) + " t" for _ in range(n)], [words(r) for _ in range(n)]


def integers(r, n):
    among = ["1", "2", "3", "-1", "-2", "+1", "01", "2305843009213693951", "0", "2305843009213693952", "-2305843009213693952", "1_0", "10", "4611686018427387901"]
    return [words(r, 6, ["1", "2", "3", "4", "-1", "-2"]) or "1" for _ in range(n)], [words(r, 6, among if r.random() < 0.3 else among[:6]) for _ in range(n)]


def boxes(r, n):
    truth, guess = [], []
    for _ in range(n):
        some = [(r.choice("ab"), r.randint(0, 5), r.randint(0, 5), r.randint(0, 5), r.randint(1, 5)) for _ in range(r.randint(0, 4))]
        truth.append(" ".join(" ".join(map(str, box)) for box in some))
        points = [(r.choice("ab"), r.choice([r.randint(0, 8), repr(r.random() * 8), "nan", "1_0"]), r.randint(0, 8)) for _ in range(r.randint(0, 5))]
        guess.append(" ".join(" ".join(map(str, point)) for point in points))
    return truth, guess


def ranked(r, n):
    sep = r.choice([" ", " ", "  "])
    return [" ".join(r.sample(WORDS, r.randint(1, 3))) for _ in range(n)], [words(r, 14, sep=sep) for _ in range(n)]


def single(r, n):
    return [r.choice(["1", "2", "3"]) for _ in range(n)], [words(r, 6, ["1", "2", "3", "01"]) for _ in range(n)] if r.random() < 0.7 else whole_labels(r, n)[1]


SIMPLE = {
    "AI4Code": ("id", "cell_order", order, text_ids), "alaska2-image-steganalysis": ("Id", "Label", scores, text_ids),
    "billion-word-imputation": ("id", "sentence", full_texts, number_ids), "bms-molecular-translation": ("image_id", "InChI", texts, text_ids),
    "multi-modal-gesture-recognition": ("Id", "Sequence", integers, number_ids), "tensorflow-speech-recognition-challenge": ("fname", "label", labels, text_ids),
    "iwildcam-2020-fgvc7": ("Id", "Category", whole_labels, text_ids), "inaturalist-2019-fgvc6": ("id", "predicted", first_labels, number_ids),
    "chaii-hindi-and-tamil-question-answering": ("id", "PredictionString", texts, text_ids), "tweet-sentiment-extraction": ("textID", "selected_text", full_texts, text_ids),
    "facebook-recruiting-iii-keyword-extraction": ("Id", "Tags", tags, number_ids), "imet-2020-fgvc7": ("id", "attribute_ids", tags, text_ids),
    "plant-pathology-2021-fgvc8": ("image", "labels", tags, text_ids), "kuzushiji-recognition": ("image_id", "labels", boxes, text_ids),
    "rsna-breast-cancer-detection": ("prediction_id", "cancer", scores, text_ids), "h-and-m-personalized-fashion-recommendations": ("customer_id", "prediction", ranked, text_ids),
    "hotel-id-2021-fgvc8": ("image", "hotel_id", single, text_ids), "whale-categorization-playground": ("Image", "Id", single, text_ids),
    "herbarium-2020-fgvc7": ("Id", "Predicted", whole_labels, number_ids), "learning-agency-lab-automated-essay-scoring-2": ("essay_id", "score", whole_labels, text_ids),
    "statoil-iceberg-classifier-challenge": ("id", "is_iceberg", scores, text_ids), "seti-breakthrough-listen": ("id", "target", scores, text_ids),
    "nfl-player-contact-detection": ("contact_id", "contact", scores, text_ids),
}
IDENTITIES = "male,female,homosexual_gay_or_lesbian,christian,jewish,muslim,black,white,psychiatric_or_mental_illness".split(",")
BONES = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]


def case(cid, r):
    """Returns the name of the id column, and the columns of the answers and of a valid submission."""
    n = r.choice([2, 3, WORD_ROWS, 17, 40])
    if cid in SIMPLE:
        name, value, make, make_ids = SIMPLE[cid]
        ids = make_ids(r, n)
        truth, guess = make(r, n)
        if r.random() < 0.1:
            guess = list(truth)
        return name, {name: ids, value: truth}, {name: list(ids), value: guess}
    if cid == "freesound-audio-tagging-2019":
        from importlib import import_module
        classes = import_module("mlebench.competitions.freesound-audio-tagging-2019.vocabulary").CLASS_NAMES
        n, ids = 4, text_ids(r, 4)
        share = r.choice([0, 0.02, 0.3, 1])
        kind = r.choice(NUMERIC + [None] * 6)
        draw = lambda: [numbers(r, kind or r.choice(["p", "tied", "bit"])) for _ in range(n)]
        return "fname", {"fname": ids, **{c: [str(int(r.random() < share)) for _ in range(n)] for c in classes}}, {"fname": list(ids), **{c: draw() for c in classes}}
    if cid == "jigsaw-unintended-bias-in-toxicity-classification":
        n, ids = 60, number_ids(r, 60)
        p = lambda: r.choice(["0.0", "1.0", "0.5", "0.49999999999999994", "0.7", ""])
        truth = {"id": ids, "toxicity": [p() for _ in range(n)], **{c: [p() for _ in range(n)] for c in IDENTITIES}}
        guess = numeric_column(r, n) if r.random() < 0.6 else [t or "0.1" for t in truth["toxicity"]]
        return "id", truth, {"id": list(ids), r.choice(["prediction", "prediction", "toxicity"]): guess}
    if cid == "lmsys-chatbot-arena":
        names = ["winner_model_a", "winner_model_b", "winner_tie"]
        ids = number_ids(r, n)
        hot = [r.randrange(3) for _ in range(n)]
        kind = r.choice(["random", "hot", "bool", "round", "off", "any"])
        rows = []
        for h in hot:
            a, b = sorted((r.random(), r.random()))
            rows.append({"random": [a, b - a, 1 - b], "hot": [int(h == k) for k in range(3)], "bool": [h == k for k in range(3)], "round": [round(a, 3), round(b - a, 3), round(1 - b, 3)],
                         "off": [a, b - a, 1 - b + r.choice([0, 4e-7, 5e-7, 6e-7, -5e-7])], "any": [r.random() for _ in range(3)]}[kind])
        return "id", {"id": ids, **{c: [str(int(h == k)) for h in hot] for k, c in enumerate(names)}}, {"id": list(ids), **{c: [str(row[k]) for row in rows] for k, c in enumerate(names)}}
    if cid == "rsna-2022-cervical-spine-fracture-detection":
        studies = r.randint(1, 5)
        ids = [f"1.2.{s}_{b}" for s in range(studies) for b in BONES]
        r.shuffle(ids)
        kind = r.choice(["p", "p", "tied", "bit", "bool", "zero", "same"])
        return "row_id", {"row_id": ids, "fractured": [str(r.randint(0, 1)) for _ in ids]}, {"row_id": list(ids), "fractured": [numbers(r, kind) for _ in ids]}
    raise KeyError(cid)


def spans(r):
    """Returns the answers, which are JSON lines, and a submission of the question answering competition."""
    n = r.choice([1, 3, 9])
    records, rows = [], []
    for i in r.sample(range(100), n):
        start = r.choice([-1, 3, 12])
        annotation = {"yes_no_answer": r.choice(["NONE", "NONE", "YES", "NO"]), "long_answer": {"start_token": start, "candidate_index": 1, "end_token": -1 if start < 0 else start + 5},
                      "short_answers": [{"start_token": s, "end_token": s + 1} for s in r.sample(range(6), r.choice([0, 0, 1, 2]))], "annotation_id": 2**63 + i}
        records.append({"example_id": str(i), "question_text": "why / \u00fc", "annotations": [annotation]})
        for side in ("long", "short"):
            rows.append((f"{i}_{side}", r.choice(["", "", "3:8", "12:17", " 12 : 017", "1:2", "2:3", "YES", "NO", "-1:-1", "4:5", "+1:0_2", "9" * 40 + ":1"])))
    return records, {"example_id": [i for i, _ in rows], "PredictionString": [p for _, p in rows]}


def spoil(r, name, columns):
    """Breaks a submission in one of many ways, or not at all."""
    columns = {c: list(v) for c, v in columns.items()}
    how, n = r.choice(["no"] * 6 + ["cell"] * 6 + ["odd column", "shuffle", "drop", "repeat", "id", "gap", "extra", "lost", "reorder", "swap ids", "float ids", "append", "one row", "empty"]), len(columns[name])
    values = [c for c in columns if c != name]
    every = lambda pick: {c: [v[i] for i in pick] for c, v in columns.items()}
    if how == "cell":
        for _ in range(r.choice([1, 1, 2])):
            columns[r.choice(values)][r.randrange(n)] = r.choice(ODD)
    elif how == "odd column":
        columns[r.choice(values)] = [r.choice(ODD)] * n
    elif how == "shuffle":
        columns = every(r.sample(range(n), n))
    elif how == "drop":
        columns = every(list(range(n - 1)))
    elif how == "repeat":
        columns = every([0] + list(range(n - 1)))
    elif how == "append":
        columns = every(list(range(n)) + [r.randrange(n)])
    elif how == "one row":
        columns = every([0])
    elif how == "empty":
        columns = every([])
    elif how == "id":
        columns[name][r.randrange(n)] = r.choice(["zzz", "", "1", "1e3"])
    elif how == "gap":
        columns[r.choice(values)][r.randrange(n)] = ""
    elif how == "extra":
        columns["more"] = ["1"] * n
    elif how == "lost":
        del columns[r.choice(list(columns))]
    elif how == "reorder":
        columns = dict(r.sample(list(columns.items()), len(columns)))
    elif how == "swap ids" and n > 1:
        columns[name][0], columns[name][1] = columns[name][1], columns[name][0]
    elif how == "float ids":
        columns[name] = [i + ".0" if i.isdigit() else i for i in columns[name]]
    return columns


def csv(columns):
    frame = pd.DataFrame({c: pd.Series(v, dtype=object) for c, v in columns.items()})
    return frame.to_csv(index=False)


def graded(grade, submission, answers):
    try:
        score = grade(read_csv(io.StringIO(submission)), answers)
    except Exception:
        return {"score": None}
    return {"score": repr(float(score)), "rounded": repr(float(round(score, 5)))}


class Pool:
    """Replaces process pools with one process, because starting processes would take longer than their work."""
    def starmap(self, function, items):
        return [function(*item) for item in items]

    def close(self):
        pass

    join = close


def main():
    import multiprocessing
    multiprocessing.Pool = Pool
    sections, out = Path(sys.argv[1]), Path(sys.argv[2])
    count, seed = [int(a) for a in sys.argv[3:5]] + [6, 1][len(sys.argv[3:5]):]
    every = [*SIMPLE, "freesound-audio-tagging-2019", "jigsaw-unintended-bias-in-toxicity-classification", "lmsys-chatbot-arena", "rsna-2022-cervical-spine-fracture-detection",
             "tensorflow2-question-answering"]
    with open(out, "w") as file:
        for cid in sys.argv[5:] or every:
            path = sections / f"{cid}.yaml"
            document = yaml.safe_load((path if path.exists() else sections / cid / "pipeline.yaml").read_text())
            lists = document.get("lists", {})
            put_in = lambda v: (lists[v["list"]] if isinstance(v, dict) and set(v) == {"list"} else {k: put_in(x) for k, x in v.items()} if isinstance(v, dict)
                                else [put_in(x) for x in v] if isinstance(v, list) else v)
            section = put_in(document["grade"])
            grade = import_fn(f"mlebench.competitions.{cid}.grade:grade")
            r = random.Random(f"{cid} {seed}")
            done = 0
            while done < count:
                if cid == "tensorflow2-question-answering":
                    records, columns = spans(r)
                    name, answers_text = "example_id", "".join(json.dumps(record) + "\n" for record in records)
                    read = lambda: [json.loads(line) for line in io.StringIO(answers_text)]
                else:
                    name, truth, columns = case(cid, r)
                    answers_text = csv(truth)
                    read = lambda: read_csv(io.StringIO(answers_text))
                submissions = []
                for _ in range(6):
                    text = csv(spoil(r, name, columns))
                    submissions.append({"text": text, **graded(grade, text, read())})
                # If only the gold submission could have a score, the answers are wrong.
                file.write(json.dumps({"competition": cid, "grade": section, "answers": answers_text, "submissions": submissions}) + "\n")
                done += len(submissions)


main()
