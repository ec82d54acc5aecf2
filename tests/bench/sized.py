"""Benchmarks the pipelines of real competitions on large made-up bundles, compared with upstream's own scripts and with
the tools for the bundles' archives.

The bundles contain the files that the pipelines read, in the real layout, with random content."""
import dataclasses, os, shutil, subprocess, sys

import bundles
from measure import Row, differences, prep, run

# Extracts and prepares the bundle like `mlebench prepare`, but without downloads and checksums.
UPSTREAM = """
import importlib, sys
from pathlib import Path
from mlebench.utils import extract
competition, bundle, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
raw, public, private = (target / name for name in ("raw", "public", "private"))
for directory in (raw, public, private):
    directory.mkdir(parents=True)
extract(bundle, raw, recursive=False)
importlib.import_module(f"mlebench.competitions.{competition}.prepare").prepare(raw, public, private)
"""


@dataclasses.dataclass
class Sized:
    """The benchmark of a competition.

    `make` creates its bundle from a number of units, which is `units` at scale 1. `unit` is the name of a unit.
    `commands` unpack {bundle} into {target}, and `tool` is their name in the table. Above the scale `upstream_until`,
    upstream's script takes too long."""
    competition: str
    make: object
    units: int
    unit: str
    tool: str = ""
    commands: tuple = ()
    upstream_until: float = 1.0

    def __call__(self, args, work):
        return self.measured(args, work, int(self.units * args.scale))

    def measured(self, args, work, units):
        bundle = work / f"{self.competition}.zip"
        self.make(bundle, units)
        size = f"{units} {self.unit}, {bundle.stat().st_size / 1e6:.0f} MB"
        print(f"  {self.competition}: {size}", flush=True)
        # The host of a virtual machine allocates memory at its first use. Only the first run pays for this.
        runs = [prep(args, work, self.competition, pipelines=None) for _ in range(2)]
        ours = min(runs, key=lambda cost: cost.wall)
        rows = [Row(work.name, size, ours)]
        if self.commands and all(shutil.which(command[0]) for command in self.commands):
            target = work / "copied"
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            line = " && ".join(" ".join(command) for command in self.commands).format(bundle=bundle, target=target)
            rows.append(Row(work.name, size, ours, self.tool, run(self.tool, ["sh", "-c", line])))
            shutil.rmtree(target)
        if args.scale <= self.upstream_until and self.importable(args):
            target = work / "upstream"
            shutil.rmtree(target, ignore_errors=True)
            # Some scripts draw from sets, whose order depends on the hash seed.
            environment = dict(os.environ, PYTHONHASHSEED="0", PYTHONWARNINGS="ignore")
            theirs = run("upstream's script", [args.python, "-c", UPSTREAM, self.competition, bundle, target], env=environment)
            shutil.rmtree(target / "raw")
            wrong = differences(work / "data" / self.competition / "prepared", target)
            note = "equal trees" if not wrong else f"{len(wrong)} files differ, {wrong[0]} first"
            rows.append(Row(work.name, size, ours, "upstream's script", theirs, note))
            shutil.rmtree(target)
        shutil.rmtree(work / "data")
        shutil.rmtree(work / "cache")
        bundle.unlink()
        return rows[1:] or rows

    def importable(self, args):
        found = subprocess.run([args.python, "-c", "import mlebench.utils"], stderr=subprocess.DEVNULL).returncode == 0
        if not found:
            print("  the benchmark's package cannot be imported: left out", file=sys.stderr)
        return found


UNZIP = (("unzip", "-q", "{bundle}", "-d", "{target}"),)
BENCHES = {
    "documents": Sized("cdiscount-image-classification-challenge", bundles.documents, 100_000, "BSON documents", "unzip", UNZIP),
    "json_lines": Sized("tensorflow2-question-answering", bundles.json_lines, 10_000, "JSON lines", "unzip", UNZIP),
    "tar_gz": Sized("inaturalist-2019-fgvc6", bundles.tar_gz, 20_000, "images in a tar.gz", "unzip, tar xzf",
                    (*UNZIP, ("tar", "xzf", "{target}/train_val2019.tar.gz", "-C", "{target}"))),
    "solid_7z": Sized("tensorflow-speech-recognition-challenge", bundles.solid_7z, 10_000, "clips in a solid 7z", "unzip, 7z x",
                      (*UNZIP, ("7z", "x", "-bd", "-o{target}", "{target}/train.7z", ">/dev/null"))),
    "arrays": Sized("google-research-identify-contrails-reduce-global-warming", bundles.arrays, 400, "records of 11 arrays", "unzip", UNZIP),
    "deep_images": Sized("bms-molecular-translation", bundles.deep_images, 50_000, "images in deep directories", "unzip", UNZIP),
    "nested_images": Sized("tgs-salt-identification-challenge", bundles.nested_images, 50_000, "images, zipped twice", "unzip twice",
                           (*UNZIP, ("unzip", "-q", "{target}/competition_data.zip", "-d", "{target}"))),
    "integers": Sized("tabular-playground-series-dec-2021", bundles.integers, 4_000_000, "rows of 56 integers"),
    "comments": Sized("jigsaw-toxic-comment-classification-challenge", bundles.comments, 600_000, "rows of quoted text, twice"),
    "quoted": Sized("facebook-recruiting-iii-keyword-extraction", bundles.quoted, 300_000, "rows of quoted text", "unzip twice",
                    (*UNZIP, ("unzip", "-q", "{target}/Train.zip", "-d", "{target}"))),
}
