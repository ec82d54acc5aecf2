"""Measures `prep audit` on generated mismatches: does it report every cause, no other cause, and the right harm?

    python audit.py PREP [--seeds 1,2] [--set first|further|third] [--only KIND] [-v]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.dont_write_bytecode = True
from competition import PIPELINE
import mismatches
import mismatches_further
import mismatches_third

HARM = {"equal": "equal", "none": "same_content", "form": "same_content", "content": "content_differs", "answers": "answers_differ"}


def write(root, files):
    for path, content in files.items():
        place = Path(root) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prep")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--set", default="first")
    parser.add_argument("--only", default="")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    module = {"first": mismatches, "further": mismatches_further, "third": mismatches_third}[options.set]
    answers = module.ANSWERS_CSV
    root = tempfile.mkdtemp(prefix="blind-", dir="/tmp")
    cases = []
    for seed in map(int, options.seeds.split(",")):
        for name, (change, causes, harm, by_position) in module.CASES.items():
            if options.only and options.only not in name:
                continue
            id = f"{name}-{seed}"
            ours = module.tree(seed)
            theirs = dict(ours)
            change(theirs, np.random.default_rng(seed + 1))
            write(f"{root}/data/{id}/prepared", ours)
            write(f"{root}/theirs/{id}/prepared", theirs)
            text = PIPELINE.format(id=id, key="id", label="label").replace("private/answers.csv", answers).replace("  answers.csv: SELECT", f"  {answers.split('/')[1]}: SELECT")
            if by_position:
                text = text.replace("    - align: id\n", "")
                if "columns" in name:
                    text = text.replace("{ accuracy: label }", "{ roc_auc: { columns: { all_except: id }, match: position } }")
            write(f"{root}/pipelines/{id}", {"pipeline.yaml": text.encode()})
            cases.append((id, causes, harm))

    def measure(one):
        id, causes, harm = one
        command = [options.prep, "audit", id, "--tree", f"{root}/theirs", "--json", "--pipelines", f"{root}/pipelines", "--data-dir", f"{root}/data"]
        ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PREP_CACHE_DIR": f"{root}/cache"})
        try:
            out = json.loads(ended.stdout)
            report = (out if isinstance(out, list) else out["competitions"])[0]["tree"]["report"]
        except Exception:
            return one, None, [("failed", ended.stderr[:200])]
        blocks = [(b["kind"], b["harm"]) for b in report["blocks"]]
        worst = max((["none", "form", "content", "answers"].index(h) for _, h in blocks), default=-1)
        named = [c for c, _ in blocks]
        right = all(any(c in one for c in named) for one in causes) and all(any(c in one for one in causes) for c in named)
        expected = -1 if harm == "equal" else ["none", "form", "content", "answers"].index(harm)
        return one, right and worst == expected, blocks

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(measure, cases))
    for (id, causes, harm), right, blocks in results:
        if options.v or not right:
            print("ok   " if right else "WRONG", id, "wanted", causes, harm, "got", blocks)
    print("right", sum(bool(right) for _, right, _ in results), "of", len(results))


main()
