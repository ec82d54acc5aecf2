"""Records the results of MLE-bench's graders for random submissions.

Each submission is a few rows of the correct submission, which are mutated up to four times.

usage: record_cases.py OUTPUT_DIR PIPELINES_DIR DATA_DIR ID...
PIPELINES_DIR/ID/pipeline.yaml has the `grade:` section, DATA_DIR/ID the prepared data. Needs the package `mlebench`.
"""
import contextlib, csv, io, json, logging, multiprocessing, random, sys, warnings
from pathlib import Path
import yaml


class Pool:
    """Replaces the process pools of the graders with one process."""
    def __init__(self, *a, **k): pass
    def __enter__(self): return self
    def __exit__(self, *a): pass
    def imap(self, f, rows): return map(f, rows)
    def starmap(self, f, rows): return [f(*row) for row in rows]
    def close(self): pass
    def join(self): pass


multiprocessing.Pool = Pool
from mlebench.utils import get_module_dir, import_fn, read_csv

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
out, pipelines, data = map(Path, sys.argv[1:4])
ODD = ["", "nan", "NA", "inf", "-inf", "0", "1", "-1", "1.5", "-0.0", "1e400", "1e-320", "x", "True", "False", " ", "-",
       "99999999999999999999", "9223372036854775807", "1_0", " 1 ", "+7", "007", "3.0", "1 1", "5 3 1 1", "1 3 10", "1e308",
       "\u0663", "1 2 3 4 5", "1 99999999999999999999", "1 9223372036854775807 5 1"]


def resolve(value, lists):
    if isinstance(value, dict):
        return lists[value["list"]] if set(value) == {"list"} else {k: resolve(v, lists) for k, v in value.items()}
    return [resolve(v, lists) for v in value] if isinstance(value, list) else value


def odd_word(draw, cell):
    words = cell.split(" ")
    k, j = draw.randrange(len(words)), draw.randrange(len(words))
    match draw.randrange(6):
        case 0: words[k] = draw.choice(ODD)
        case 1: del words[k]
        case 2: words.insert(k, words[k])
        case 3: words[k], words[j] = words[j], words[k]
        case 4: del words[min(j, k):max(j, k)]
        case _:
            with contextlib.suppress(ValueError):
                words[k] = str(float(words[k]) + draw.choice([0.5, -1, 1e-9])) if "." in words[k] else str(int(words[k]) + draw.choice([1, -1, 9, 300]))
    return " ".join(words)


def mutate(draw, rows):
    head, body = rows[0], [list(row) for row in rows[1:]]
    if not body:
        return rows
    i, j, c = draw.randrange(len(body)), draw.randrange(len(body)), draw.randrange(len(head))
    match draw.randrange(10):
        case 0: body[i][c] = draw.choice(ODD)
        case 1 | 2 | 3:
            c = max(range(len(head)), key=lambda k: len(body[i][k])) if draw.random() < 0.6 else c
            body[i][c] = odd_word(draw, body[i][c])
        case 4: draw.shuffle(body)
        case 5: del body[i]
        case 6: body.insert(j, list(body[i]))
        case 7: body = [row[:c] + [ODD[(i * 7 + j) % len(ODD)]] + row[c + 1:] for row in body]
        case 8: body[i][c], body[j][c] = body[j][c], body[i][c]
        case _:
            for row in body:
                with contextlib.suppress(ValueError):
                    row[c] = repr(float(row[c]) * draw.choice([1, 1.01, 0.9, -1, 1e150, 1e-160, 0]) + draw.choice([0, 0.1, 1]))
    return [head] + body


def text(rows):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


def score(grade, submission, answers):
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return repr(float(round(grade(read_csv(io.StringIO(submission)), read_csv(io.StringIO(answers))), 5)))
    except Exception:
        return None


for id in sys.argv[4:]:
    draw = random.Random(id)
    pipeline = yaml.safe_load((pipelines / id / "pipeline.yaml").read_text())
    section = resolve(pipeline["grade"], pipeline.get("lists", {}))
    grade = import_fn(yaml.safe_load((get_module_dir() / "competitions" / id / "config.yaml").read_text())["grader"]["grade_fn"])
    answers = table(data / id / section["answers"])
    sample = table(data / id / section["sample"])
    gold = data / id / "private" / "gold_submission.csv"
    # Draws neighbouring rows, so that groups consist of several rows. Truncates long cells.
    count = 24 if len(text(answers)) < 100 * len(answers) else 8
    first = draw.randrange(max(1, len(answers) - count))
    short = lambda cell: " ".join(cell.split(" ")[:72])
    whole = answers
    answers = [answers[0]] + [[short(cell) for cell in row] for row in answers[1:][first:first + count]]
    key = next(name for name in sample[0] if name in answers[0])
    if gold.exists() and table(gold)[0] == sample[0]:
        rows = table(gold)[1:]
        if len(rows) == len(whole) - 1:
            rows = rows[first:first + count]
        else:
            known = {row[answers[0].index(key)] for row in answers[1:]}
            rows = [row for row in rows if row[sample[0].index(key)] in known]
    else:
        defaults = dict(zip(sample[0], sample[1]))
        rows = [[dict(zip(answers[0], row)).get(name, defaults[name]) for name in sample[0]] for row in answers[1:]]
    base = [sample[0]] + [[short(cell) for cell in row] for row in rows]
    submissions, seen = [], set()
    while len(submissions) < 48:
        mutant = base
        for _ in range(len(submissions) % 4):
            mutant = mutate(draw, mutant)
        if text(mutant) in seen and submissions:
            mutant = mutate(draw, mutant)
        seen.add(text(mutant))
        submissions.append({"text": text(mutant), "score": score(grade, text(mutant), text(answers))})
    record = {"competition": id, "grade": section, "answers": text(answers), "submissions": submissions}
    (out / f"{id}.json").write_text(json.dumps(record, ensure_ascii=False, indent=0) + "\n")
    print(id, sum(s["score"] is not None for s in submissions), len((out / f"{id}.json").read_bytes()))
