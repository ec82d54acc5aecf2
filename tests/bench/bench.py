#!/usr/bin/env python3
"""Compares `prep` with alternatives in one run on one machine, and prints a table.

  bench.py --prep target/release/prep [NAME...] [--python PYTHON] [--save FILE] [--against FILE]

table       the taxi competition with twice --rows rides, compared with upstream's own script, as below
memory      the taxi competition with two and a half times --rows, and with a tenth of that: bytes of memory per extra row
images      images of 12 KB in one zip, prepared as train and test; compared with Info-ZIP's unzip into one directory
grading     recorded submissions of the competitions whose metrics scikit-learn has, graded with one call of `prep grade`
            for all cases with the same name; compared with scikit-learn in a process whose imports do not count
many_rows   a submission of five times --rows rows in a different order than the answers; compared with pandas reading both
nothing     a run with nothing to do, of all competitions whose bundles are in --cases
integers, comments, documents, json_lines, tar_gz, solid_7z, arrays, deep_images, nested_images, quoted
            a competition with a large made-up bundle: 56 columns of integers, quoted comments, BSON documents, JSON
            lines, a tar.gz, a solid 7z, npy arrays, deep directories of images, images in a nested zip, a large quoted CSV.
            Compared with upstream's own script (`extract` and `prepare` in one process), if the package `mlebench` can be
            imported, with a comparison of the trees. If `prep` only copies bytes, also compared with the archive's own tool.
            --scale N creates N times as much data.

The alternatives run in PYTHON (default: this interpreter) with pandas 2.2, scikit-learn 1.5 and PyYAML. The last group also
needs upstream's package, pymongo and py7zr. unzip, tar and 7z are Debian's. A missing alternative is skipped with a message.

`prep` and the alternatives read from the page cache. `prep` runs twice, and the table shows the faster run.

--save stores the measured values. --against compares with stored values: the exit code is 1 if one got worse by over 10 %.
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
    parser.add_argument("--rows", type=int, default=2_000_000, help="number of rows from which the sizes of all tables are computed")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the sizes of the bundles of real competitions")
    parser.add_argument("--memory", dest="memory_limit", metavar="SIZE", help="prep's --memory")
    parser.add_argument("--cases", type=Path, default=Path(__file__).resolve().parents[1] / "cases")
    parser.add_argument("--work", type=Path, help="directory for bundles and results; kept")
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
