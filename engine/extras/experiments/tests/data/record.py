"""Records the figures that upstream's script computes from grading reports: `record.py CHECKOUT REPORT.json...`.

The given reports become the experiment `published`. Fifteen more experiments are generated at random. A report is stored
as a string: for each competition, its number in the list `competitions`, followed by letters for its flags (e:
submission exists; v: valid; m: above the median; g, s, b: gold, silver, bronze).
"""

import importlib.util
import json
import random
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

LETTERS = {
    "e": "submission_exists",
    "v": "valid_submission",
    "m": "above_median",
    "g": "gold_medal",
    "s": "silver_medal",
    "b": "bronze_medal",
}


def load(checkout):
    spec = importlib.util.spec_from_file_location("aggregate", checkout / "experiments/aggregate_grading_reports.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["aggregate"] = module
    spec.loader.exec_module(module)
    return module


def flags(rng, skill):
    if rng.random() < 0.08:
        return ""
    if rng.random() < 0.1:
        return "e"
    score = rng.random() * skill
    medal = "g" if score > 0.85 else "s" if score > 0.75 else "b" if score > 0.65 else ""
    return "ev" + ("m" if score > 0.4 else "") + medal


def made_up(rng, ids):
    """Returns random reports with missing, repeated and shuffled entries."""
    skill = rng.uniform(0.5, 1.3)
    ids = list(range(len(ids)))
    missing = set(rng.sample(ids, 3)) if rng.random() < 0.2 else set()
    reports = []
    for _ in range(rng.randint(1, 6)):
        entries = [(i, flags(rng, skill)) for i in ids if i not in missing and rng.random() < 0.995]
        entries += [(i, flags(rng, skill)) for i in rng.sample(ids, rng.choice([0, 0, 2])) if i not in missing]
        rng.shuffle(entries)
        reports.append(entries)
    return reports


def main():
    checkout = Path(sys.argv[1])
    script = load(checkout)
    ids = script.load_competition_ids("split75")
    rng = random.Random(11)
    published = []
    for path in sys.argv[2:]:
        entries = json.loads(Path(path).read_text())["competition_reports"]
        published.append(
            [(ids.index(e["competition_id"]), "".join(k for k, name in LETTERS.items() if e[name])) for e in entries]
        )
    experiments = {"published": published}
    experiments |= {f"made-up-{n}": made_up(rng, ids) for n in range(15)}
    cases = []
    for name, reports in experiments.items():
        with tempfile.TemporaryDirectory() as directory:
            paths = []
            for n, entries in enumerate(reports):
                path = Path(directory) / f"{n}_grading_report.json"
                path.write_text(
                    json.dumps(
                        {
                            "competition_reports": [
                                {"competition_id": ids[i]} | {full: k in f for k, full in LETTERS.items()}
                                for i, f in entries
                            ]
                        }
                    )
                )
                paths.append(str(path))
            runs = script.get_competition_reports(paths)
        for split in ["low", "medium", "high", "split75"]:
            wanted = script.load_competition_ids(split)
            for pad in [False, True]:
                for number in [-1, 2]:
                    case = {"experiment": name, "set": split, "pad": pad, "seeds": number}
                    try:
                        seeds = script.build_complete_seeds(runs, wanted, number, pad_missing=pad)
                        seeds = script.select_seeds(seeds, number)
                        metrics = [script.calculate_metrics_for_a_seed(seed) for seed in seeds]
                        found = asdict(script.average_metrics_across_seeds(metrics, len(wanted)))
                        found["metrics"].pop("total_competitions")
                        case["found"] = {
                            "seeds": found["num_seeds_averaged"],
                            "metrics": {
                                name: [one["mean"], one["ci_lower"], one["ci_upper"], one["standard_error"]]
                                for name, one in found["metrics"].items()
                            },
                        }
                    except ValueError:
                        case["found"] = None
                    cases.append(case)
    directory = Path(__file__).parent
    text = {
        name: [" ".join(f"{i}{f}" for i, f in entries) for entries in reports] for name, reports in experiments.items()
    }
    out = {"competitions": ids, "experiments": text}
    (directory / "reports.json").write_text(json.dumps(out, indent=1) + "\n")
    lines = ",\n".join(json.dumps(case) for case in cases)
    (directory / "expected.json").write_text(f"[\n{lines}\n]\n")


main()
