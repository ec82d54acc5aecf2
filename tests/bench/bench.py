#!/usr/bin/env python3
"""Benchmarks of `prep` beside an alternative, in one run on one machine; prints one table.

  bench.py --prep target/release/prep [NAME...] [--python PYTHON] [--save FILE] [--against FILE]

table       the taxi competition with twice --rows rides; beside the benchmark's own script, as below
memory      the same with two and a half times --rows, and with a tenth of them: bytes of memory for a further row
images      images of 12 KB in one zip, prepared into train and test folders; beside Info-ZIP's unzip into one folder
grading     recorded submissions of the competitions whose metrics scikit-learn has by `prep grade`, one call for all cases
            of a name; beside those metrics in a process of its own, without its imports
many_rows   a submission of five times --rows rows in another order than the answers; beside pandas reading both
nothing     a run with nothing to do, of all competitions whose bundles --cases has
integers, comments, documents, json_lines, tar_gz, solid_7z, arrays, deep_images, nested_images, quoted
            a competition at a larger size, on a made-up bundle: 56 columns of integers, quoted comments, BSON
            documents, JSON lines, a tar.gz, a solid 7z, npy arrays, deep folders of images, images in a zip that is zipped
            once more, a large quoted CSV. Beside
            the benchmark's own script (its `extract` and its `prepare` in one process, trees compared byte by byte) if
            the package `mlebench` can be imported, and beside the archive's own tool where bytes are only copied.
            --scale N makes N times as much.

The alternatives run in PYTHON (default: this one): pandas 2.2, scikit-learn 1.5, PyYAML, and for the last group the
benchmark's package with pymongo and py7zr; unzip, tar and 7z are Debian's. What is missing is left out, and said.
Both sides read from the page cache; `prep` runs twice, and the quicker run counts. --save keeps the figures; --against
names what got slower or larger than them by more than a tenth, and then ends with 1.
"""
import argparse, shutil, sys, tempfile
from pathlib import Path

import grading, images, measure, nothing, sized, tables

BENCHES = {"table": tables.table, "memory": tables.memory, "images": images.images, "grading": grading.grading,
           "many_rows": grading.many_rows, "nothing": nothing.nothing, **sized.BENCHES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=[[], *BENCHES], metavar="NAME", help="default: all")
    parser.add_argument("--prep", required=True, type=Path)
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the alternatives")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of tables; the table has twice as many")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--scale", type=float, default=1.0, help="how much larger the sized bundles are")
    parser.add_argument("--memory", dest="memory_limit", metavar="SIZE", help="prep's --memory")
    parser.add_argument("--cases", type=Path, default=Path(__file__).resolve().parents[1] / "cases")
    parser.add_argument("--work", type=Path, help="folder for bundles and results; kept")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    args = parser.parse_args()
    args.prep, args.cases = args.prep.resolve(), args.cases.resolve()
    work = (args.work or Path(tempfile.mkdtemp(prefix="prep-bench-"))).resolve()
    rows = []
    try:
        for name in args.which or BENCHES:
            print(name, flush=True)
            (work / name).mkdir(parents=True, exist_ok=True)
            rows += BENCHES[name](args, work / name)
    finally:
        if not args.work:
            shutil.rmtree(work)
    print(f"\n{measure.markdown(rows)}")
    if args.save:
        measure.save(args.save, rows)
    slower = measure.regressions(args.against, rows) if args.against else []
    print("".join(f"\nslower: {line}" for line in slower), end="")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
