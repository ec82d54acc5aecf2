"""Measures `prep leaks` on generated competitions: how many planted leaks it finds, and how many clean competitions it reports.

    python leaks.py PREP [--seeds 1,2] [--set planted|unseen|further|strangers|fifth|sixth|honest|drawn] [--only KIND] [--keep DIR]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import fifth
import further
import honest
import planted
import sixth
import strangers
import unseen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prep")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--set", default="planted")
    parser.add_argument("--only", default="")
    parser.add_argument("--strength", type=float, default=0.9)
    parser.add_argument("--keep")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    module = {"planted": planted, "unseen": unseen, "further": further, "strangers": strangers, "fifth": fifth, "sixth": sixth, "honest": honest, "drawn": honest}[options.set]
    clean = honest.DRAWN if options.set == "drawn" else module.CLEAN
    root = options.keep or tempfile.mkdtemp(prefix="blind-", dir="/tmp")
    made = []
    for seed in map(int, options.seeds.split(",")):
        for kinds, is_leak in ((module.LEAKS, True), (clean, False)):
            for name, make in kinds.items():
                if options.only and options.only not in name:
                    continue
                id = f"{name}-{seed}"
                make(seed, options.strength).write(root, id)
                made.append((id, name, is_leak))

    def measure(one):
        id, name, is_leak = one
        command = [options.prep, "leaks", id, "--json", "--pipelines", f"{root}/pipelines", "--data-dir", f"{root}/data"]
        ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PREP_CACHE_DIR": f"{root}/cache"})
        findings = []
        try:
            out = json.loads(ended.stdout)
            reports = out if isinstance(out, list) else out.get("competitions", [out])
            findings = [f for f in reports[0]["findings"] if f["level"] in ("leak", "risk")]
            notes = [f for f in reports[0]["findings"] if f["level"] not in ("leak", "risk")]
        except Exception:
            print(id, "FAILED", ended.returncode, ended.stderr[:300])
            return one, None, []
        return one, findings, notes

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(measure, made))
    table = {True: {}, False: {}}
    for (id, name, is_leak), findings, notes in results:
        alarm = bool(findings)
        hits, count = table[is_leak].get(name, (0, 0))
        table[is_leak][name] = (hits + alarm, count + 1)
        if options.v or alarm != is_leak:
            print(("ok  " if alarm == is_leak else "MISS" if is_leak else "FALSE"), id)
            for f in (findings or []) + (notes if options.v or is_leak else []):
                print("      ", f["level"], f["detector"], f["what"][:230], f.get("p_value"))
    for is_leak in (True, False):
        hits = sum(h for h, _ in table[is_leak].values())
        count = sum(c for _, c in table[is_leak].values())
        print("leaks found" if is_leak else "false alarms", hits, "of", count)


main()
