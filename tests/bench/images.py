"""Benchmarks many small images, compared with unzip."""
import random, shutil

import bundles
from measure import Row, prep, run


def images(args, work):
    draw = random.Random(0)
    bundle = work / "bench-images.zip"
    with bundles.archive(bundle) as out:
        rows = ["id,label\n"]
        for number in range(args.images):
            out.writestr(f"images/{number:06}.jpg", draw.randbytes(12_000))
            rows.append(f"{number:06},{number % 2}\n")
        out.writestr("train.csv", "".join(rows))
    target = work / "unzipped"
    ours, theirs = [], []
    for _ in range(3):
        shutil.rmtree(target, ignore_errors=True)
        theirs.append(run("unzip", ["unzip", "-q", bundle, "-d", target]))
        ours.append(prep(args, work, "bench-images"))
    best = lambda costs: min(costs, key=lambda cost: cost.wall)
    return [Row("images", f"{args.images} of 12 KB", best(ours), "unzip", best(theirs), "best of 3")]
