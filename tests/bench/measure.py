"""Runs commands and measures their cost, and formats the table that `bench.py` prints."""
import dataclasses, json, os, platform, shutil, subprocess, sys, time
from pathlib import Path

PIPELINES = Path(__file__).resolve().parent / "pipelines"


@dataclasses.dataclass
class Cost:
    """Wall seconds, CPU seconds of the process and its children, and peak resident MB of the largest process."""
    wall: float
    cpu: float
    memory: float


@dataclasses.dataclass
class Row:
    """A line of the table: benchmark, input, cost of `prep`, alternative and its cost, and how the results were compared."""
    name: str
    size: str
    ours: Cost
    alternative: str = ""
    theirs: Cost | None = None
    note: str = ""

    def cells(self):
        ours = [f"{self.ours.wall:.2f}", f"{self.ours.cpu:.2f}", f"{self.ours.memory:.0f}"]
        if not self.theirs:
            return [self.name, self.size, *ours, self.alternative, "", "", "", "", "", self.note]
        theirs = [f"{self.theirs.wall:.2f}", f"{self.theirs.cpu:.2f}", f"{self.theirs.memory:.0f}"]
        ratios = [f"{self.theirs.wall / self.ours.wall:.1f}", f"{self.theirs.cpu / max(self.ours.cpu, 0.01):.1f}"]
        return [self.name, self.size, *ours, self.alternative, *theirs, *ratios, self.note]


HEAD = ["benchmark", "input", "wall s", "CPU s", "MB", "compared with", "wall s", "CPU s", "MB", "wall ×", "CPU ×", "check"]


def markdown(rows):
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def save(path, rows):
    machine = {"cpu": processor(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d")}
    path.write_text(json.dumps({"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}, indent=1) + "\n")


def regressions(path, rows, tolerance=1.1):
    """Returns messages for rows that take more than `tolerance` times the wall time, CPU time or memory of an earlier run."""
    earlier = {(row["name"], row["size"]): row["ours"] for row in json.loads(path.read_text())["rows"]}
    found = []
    for row in rows:
        before = earlier.get((row.name, row.size))
        for what, now in dataclasses.asdict(row.ours).items():
            # Differences below 0.1 s are noise.
            if before and now > tolerance * before[what] and (what == "memory" or now - before[what] > 0.1):
                found.append(f"{row.name} ({row.size}): {what} {before[what]:.2f} -> {now:.2f}, {now / before[what]:.2f} times")
    return found


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def run(name, command, **kwargs):
    """Runs a command, prints its cost, and returns it. Exits if the command fails."""
    begin = time.monotonic()
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **kwargs)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    cost = Cost(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
    if status != 0:
        sys.exit(f"{name} failed:\n{errors.decode()}")
    print(f"  {name:40} {cost.wall:8.2f} s {cost.cpu:8.2f} CPU s {cost.memory:8.0f} MB", flush=True)
    return cost


def prep(args, work, competition, pipelines=PIPELINES):
    """Prepares WORK/ID.zip with an empty cache and an empty data directory."""
    for directory in ("cache", "data"):
        shutil.rmtree(work / directory, ignore_errors=True)
    command = [args.prep, "run", "-c", competition, "--source", work, "--data-dir", work / "data", "--skip-verification"]
    if args.memory_limit:
        command += ["--memory", args.memory_limit]
    environment = dict(os.environ, PREP_CACHE_DIR=str(work / "cache"))
    if pipelines:
        environment["PREP_PIPELINES"] = str(pipelines)
    return run("prep", command, env=environment)


def differences(ours, theirs):
    """Returns the names of files that differ between two directories. Ignores the description, because the programs publish
    different texts."""
    def files(directory):
        return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file() and path.name != "description.md"}
    here, there = files(ours), files(theirs)
    return sorted(here ^ there) + [name for name in sorted(here & there) if not same(ours / name, theirs / name)]


def same(one, other):
    with open(one, "rb") as a, open(other, "rb") as b:
        while True:
            left, right = a.read(1 << 20), b.read(1 << 20)
            if left != right:
                return False
            if not left:
                return True
