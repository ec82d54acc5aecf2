"""Benchmarks a run with nothing to do: all competitions are prepared, and all bundles are unchanged."""
import os

from measure import Row, run


def nothing(args, work):
    source = work / "source"
    source.mkdir(exist_ok=True)
    ids = []
    for case in sorted(args.cases.glob("*/*/raw.zip")):
        link = source / f"{case.parents[1].name}.zip"
        if case.parents[1].name not in ids:
            ids.append(case.parents[1].name)
            link.unlink(missing_ok=True)
            link.symlink_to(case)
    command = [args.prep, "run", *(word for id in ids for word in ("-c", id)), "--source", source, "--data-dir", work / "data", "--skip-verification"]
    environment = dict(os.environ, PREP_CACHE_DIR=str(work / "cache"))
    run("prep, the first run", command, env=environment)
    costs = [run("prep, nothing to do", command, env=environment) for _ in range(5)]
    return [Row("nothing", f"{len(ids)} competitions", min(costs, key=lambda cost: cost.wall), note="best of 5")]
