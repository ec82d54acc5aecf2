"""The scenarios. Each one starts its servers, injects a fault, and compares the result with the run of a single machine."""
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

from world import ADMIN, GALLERY, READER, TABLE, Machine, S3Server, declare, free_port, kill, tree


class MissingTool(Exception):
    """Raised if a tool that the scenario needs is missing."""


@contextmanager
def server(world, name, space=None):
    """Runs an S3 server. Yields the server and the address of a remote in its bucket. `space` is its disk size."""
    base = world.base / name
    shutil.rmtree(base, ignore_errors=True)
    weed = S3Server(world.weed, base, space)
    try:
        weed.start()
        yield weed, weed.bucket("lab")
    finally:
        weed.close()


def warnings(ended):
    return [line for line in ended.stderr.splitlines() if line.startswith("warning:")]


def only_warning(ended, words):
    """Asserts that a command printed a single warning, which contains `words`. Returns the warning."""
    messages = warnings(ended)
    assert len(messages) == 1 and words in messages[0], f"expected `{words}` once: {messages}"
    return messages[0].removeprefix("warning: ")


def machine_with_results(world, weed, remote, **more):
    """Returns a machine that has prepared all competitions and sent the results to the remote."""
    one = Machine(world, "one", remote, weed.url, **more)
    one.run()
    return one


def shared(world):
    """Three workers with an empty remote prepare a third of the competitions each. Then another machine only pulls."""
    with server(world, "shared") as (weed, remote):
        first = Machine(world, "w1", remote, weed.url)
        others = [Machine(world, name, remote, weed.url) for name in ("w2", "w3")]
        workers = [first, *others]
        keys = [one.key for one in workers]
        running = [one.start("run", "--skip-verification", "--no-download", "--json", "--source", world.source,
                             "--unit", f"{n}/3", *world.ids) for n, one in enumerate(workers, 1)]
        for process in running:
            out, err = process.communicate()
            assert process.returncode == 0, err
        together = {}
        for one in workers:
            together.update(one.tree())
        assert together == world.expected_tree()
        last = Machine(world, "puller", remote, weed.url, trusted=keys)
        ended = last.call("remote", "pull", "--skip-verification", "--json")
        kinds = set(last.kinds(ended))
        assert kinds <= {"bundle", "check", "publish"}, kinds
        assert last.tree() == world.expected_tree()
        return f"{len(together)} files equal those of a single machine; a pull ran {sorted(kinds)}"


def twice(world):
    """Two machines run the same job at the same time."""
    with server(world, "twice") as (weed, remote):
        one = Machine(world, "one", remote, weed.url)
        two = Machine(world, "two", remote, weed.url, trusted=[one.key])
        words = ["run", "--skip-verification", "--no-download", "--json", "--source", world.source, *world.ids]
        running = [one.start(*words), two.start(*words)]
        for process in running:
            out, err = process.communicate()
            assert process.returncode == 0 and "not deterministic" not in err, err
        assert one.tree() == world.expected_tree() and two.tree() == world.expected_tree()


def killed_upload(world):
    """A worker is killed several times during uploads. The next run uploads the rest."""
    with server(world, "killed") as (weed, remote):
        one = Machine(world, "one", remote, weed.url)
        words = ["run", "--skip-verification", "--no-download", "--json", "--source", world.source, *world.ids]
        chance = random.Random(1)
        kills = 0
        for _ in range(6):
            # Continue as on a different node: only the uploaded results of the previous attempt exist.
            for directory in ("store", "data"):
                shutil.rmtree(one.home / directory, ignore_errors=True)
            enough = len(weed.keys("lab")) + chance.randrange(1, 12)
            process = one.start(*words)
            while process.poll() is None and len(weed.keys("lab")) < enough:
                time.sleep(0.01)
            kills += process.poll() is None
            kill(process)
            # Another machine must be able to use the uploaded results.
            reader = Machine(world, "reader", remote, weed.url, trusted=[one.key], who=READER)
            ended = reader.run()
            assert reader.tree() == world.expected_tree() and "damaged" not in ended.stderr, ended.stderr
        one.run()
        one.call("remote", "push", "--skip-verification", "--source", world.source, *world.ids)
        last = Machine(world, "last", remote, weed.url, trusted=[one.key])
        last.call("remote", "pull", "--skip-verification")
        assert one.tree() == last.tree() == world.expected_tree()
        return f"{kills} kills; another machine read only correct results, and the next run sent the rest"


def corrupted(world):
    """A byte of each object and of each bundle in the remote is changed."""
    with server(world, "corrupted") as (weed, remote):
        one = machine_with_results(world, weed, remote)
        client = weed.client()
        for key in weed.keys("lab"):
            if "/objects/" not in key and "/bundles/" not in key:
                continue
            body = bytearray(client.get_object(Bucket="lab", Key=key)["Body"].read())
            if body:
                body[len(body) // 2] ^= 1
                client.put_object(Bucket="lab", Key=key, Body=bytes(body))
        two = Machine(world, "two", remote, weed.url, trusted=[one.key])
        ended = two.run()
        assert two.tree() == world.expected_tree() and "is damaged" in ended.stderr, ended.stderr
        two.call("cache", "verify")
        # New results replaced the damaged ones, so another machine can use all of them.
        three = Machine(world, "three", remote, weed.url, trusted=[one.key, two.key])
        three.run()
        assert three.tree() == world.expected_tree()
        return warnings(ended)[0].removeprefix("warning: ")


def forged(world):
    """Entries are forged: signed by an untrusted machine, not signed, or copied to the name of another entry."""
    with server(world, "forged") as (weed, remote):
        machine_with_results(world, weed, remote)
        two = Machine(world, "two", remote, weed.url)
        ended = two.run()
        assert two.tree() == world.expected_tree()
        assert sum("which is not trusted" in one for one in warnings(ended)) == 1, ended.stderr
        client = weed.client()
        entries = weed.keys("lab", "team/v1/ledger/")
        good = client.get_object(Bucket="lab", Key=entries[0])["Body"].read()
        for key in entries[1:]:
            client.put_object(Bucket="lab", Key=key, Body=good)
        client.put_object(Bucket="lab", Key=entries[0], Body=b'{"outputs": {}}')
        one = world.base / "machines" / "one" / "config" / "prep" / "keys"
        three = Machine(world, "three", remote, weed.url)
        for key in one.iterdir():
            shutil.copy(key, three.home / "config" / "prep" / "keys")
        # The copies are rejected even though the machine trusts the key that signed them.
        (three.home / "config" / "prep" / "keys" / "three.key").unlink()
        ended = three.run()
        assert three.tree() == world.expected_tree()
        assert any("its signature is not valid" in one for one in warnings(ended)), ended.stderr
        return warnings(ended)[0].removeprefix("warning: ")


def clock(world):
    """The clock of a machine is 20 minutes off."""
    if not shutil.which("faketime"):
        raise MissingTool("no faketime (apt-get install faketime)")
    with server(world, "clock") as (weed, remote):
        one = machine_with_results(world, weed, remote)
        two = Machine(world, "two", remote, weed.url, trusted=[one.key])
        library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
        environment = {"LD_PRELOAD": str(library), "FAKETIME": "-20m", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        ended = two.run(environment=environment)
        assert two.tree() == world.expected_tree()
        return only_warning(ended, "clock")


def full(world):
    """The disk of the S3 server is full."""
    with server(world, "full", space="300m") as (weed, remote):
        ballast = weed.base / "data" / "ballast"
        one = Machine(world, "one", remote, weed.url)
        one.run(ids=world.ids[:1])
        free = os.statvfs(weed.base)
        ballast.write_bytes(bytes(free.f_bavail * free.f_frsize))
        two = Machine(world, "two", remote, weed.url, trusted=[one.key])
        ended = two.run()
        assert two.tree() == world.expected_tree()
        messages = warnings(ended)
        assert messages and "prep remote push" in messages[0], ended.stderr
        ballast.unlink()
        # After its disk was full, SeaweedFS accepts writes again only after a restart.
        weed.stop()
        weed.start()
        end = time.time() + 90
        while time.time() < end:
            pushed = two.call("remote", "push", "--skip-verification", "--source", world.source, *world.ids, code=None)
            if pushed.returncode == 0:
                break
            time.sleep(3)
        assert pushed.returncode == 0, pushed.stderr
        three = Machine(world, "three", remote, weed.url, trusted=[one.key, two.key])
        three.call("remote", "pull", "--skip-verification")
        assert three.tree() == world.expected_tree()
        return messages[0].removeprefix("warning: ")


def revoked(world):
    """Credentials are revoked; other credentials are read-only."""
    with server(world, "revoked") as (weed, remote):
        one = machine_with_results(world, weed, remote)
        reader = Machine(world, "reader", remote, weed.url, trusted=[one.key], who=READER)
        reader.call("remote", "pull", "--skip-verification")
        assert reader.tree() == world.expected_tree()
        lone = Machine(world, "lone", remote, weed.url, who=READER)
        messages = [only_warning_with(lone.run(), "can only be read")]
        gone = Machine(world, "gone", remote, weed.url, trusted=[one.key], who=("gone", "gone-secret"))
        ended = gone.run()
        assert gone.tree() == world.expected_tree()
        messages.append(only_warning(ended, "rejects the credentials"))
        return " | ".join(messages)


def only_warning_with(ended, words):
    """Asserts that one of a command's warnings contains `words`. Returns this warning. Other warnings are ignored."""
    messages = [one for one in warnings(ended) if words in one]
    assert len(messages) == 1, ended.stderr
    return messages[0].removeprefix("warning: ")


def away(world):
    """The S3 server is stopped during a run, and before a run."""
    with server(world, "away") as (weed, remote):
        one = machine_with_results(world, weed, remote)
        two = Machine(world, "two", remote, weed.url, trusted=[one.key])
        process = two.start("run", "--skip-verification", "--no-download", "--json", "--source", world.source, *world.ids)
        time.sleep(0.4)
        weed.stop()
        out, err = process.communicate()
        assert process.returncode == 0 and two.tree() == world.expected_tree(), err
        three = Machine(world, "three", remote, weed.url, trusted=[one.key])
        ended = three.run()
        assert three.tree() == world.expected_tree()
        warning = only_warning(ended, "cannot be reached")
        weed.start()
        three.call("remote", "push", "--skip-verification", "--source", world.source, *world.ids)
        return warning


def prefixes(world):
    """A role without permission to read `private/` gets no answers and no bundles."""
    with server(world, "prefixes") as (weed, remote):
        one = machine_with_results(world, weed, remote)
        answers = {Path(path).read_bytes() for path in one.home.glob("data/*/prepared/private/*") if path.is_file()}
        client = weed.client()
        open_ = [key for key in weed.keys("lab") if "private/" not in key]
        bodies = [client.get_object(Bucket="lab", Key=key)["Body"].read() for key in open_]
        assert not answers & set(bodies)
        assert not any("bundles" in key for key in open_)
        return f"{len(open_)} files outside of private/, none is one of {len(answers)} answers"


def pull_time(world):
    """Measures how long a second machine pulls, which only transfers bytes, and how long an S3 client copies the same objects."""
    messages = []
    # The third value is whether the pull needs bytes of the bundle.
    for name, id, reads_bundle in (("pictures in the bundle", large(world, "big", members=300, each=1 << 20, used=300), True),
                                   ("tables", broad(world), False), ("20,000 files of an archive", small(world), False)):
        with server(world, f"pulling-{id}") as (weed, remote):
            one = Machine(world, "one", remote, weed.url)
            one.run(ids=[id])
            wanted = [key for key in weed.keys("lab") if "/ledger/" not in key and "/sources/" not in key
                      and (reads_bundle or "/bundles/" not in key)]
            names = world.base / "wanted"
            names.write_text("\n".join(wanted))
            times = []
            for turn in range(3):
                directory = world.base / f"copied{turn}"
                directory.mkdir()
                copied = measured(lambda: subprocess.run([sys.executable, "-c", COPY, weed.url, *ADMIN, directory, names], check=True))
                moved = sum(path.stat().st_size for path in directory.iterdir())
                shutil.rmtree(directory)
                two = Machine(world, f"two{turn}", remote, weed.url, trusted=[one.key])
                ended = []
                pulled = measured(lambda: ended.append(two.call("remote", "pull", "--skip-verification", "--json", id)))
                assert set(two.kinds(ended[0])) <= {"bundle", "check", "publish"}
                times.append((pulled[0] / copied[0], pulled, copied))
                shutil.rmtree(two.home)
            ratio, pulled, copied = sorted(times)[1]
            messages.append(f"{name}, {moved / 1e6:.0f} MB in {len(wanted)} objects: pulled in {pulled[0]:.2f} s (processor {pulled[1]:.2f} s), "
                        f"copied in {copied[0]:.2f} s (processor {copied[1]:.2f} s); pulling takes {ratio:.2f} times as long and "
                        f"{pulled[1] / copied[1]:.2f} times as much processor time as copying")
    return "; ".join(messages) + " (target: at most 1.3 times as long)"


# Copies objects with ten requests at the same time, like Amazon's command line.
COPY = """
import sys, boto3, concurrent.futures
url, key, secret, target, names = sys.argv[1:]
client = boto3.client("s3", endpoint_url=url, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")
names = list(enumerate(open(names).read().split("\\n")))
with concurrent.futures.ThreadPoolExecutor(10) as pool:
    list(pool.map(lambda one: client.download_file("lab", one[1], f"{target}/{one[0]}"), names))
"""


def broad(world):
    """Creates a competition with two tables of 150 MB."""
    id = "table-broad"
    declare(world.pipelines, id, TABLE, seed=7, size=5)
    path = world.source / f"{id}.zip"
    if not path.exists():
        noise = os.urandom(100).hex()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
            rows = (f"{i},g{i % 7},{i * 7919 % 1000003}{noise}\n" for i in range(1_400_000))
            bundle.writestr("train.csv", "id,group,value\n" + "".join(rows))
    return id


def small(world):
    """Creates a competition with many small files in a compressed archive. Each file becomes an object."""
    import io
    import tarfile
    id = "gallery-small"
    declare(world.pipelines, id, GALLERY, seed=98, inside="pictures.tar.gz/")
    path = world.source / f"{id}.zip"
    if not path.exists():
        packed, count = io.BytesIO(), 20_000
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
            for i in range(count):
                member = tarfile.TarInfo(f"pictures/{i}.jpg")
                member.size = 5000
                archive.addfile(member, io.BytesIO(os.urandom(5000)))
        with zipfile.ZipFile(path, "w") as bundle:
            bundle.writestr("train.csv", "id,artist\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(count)))
            bundle.writestr("pictures.tar.gz", packed.getvalue())
    return id


def measured(work):
    """Returns the wall seconds of `work`, and the CPU seconds of its child processes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.time() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def large(world, name, members, each, used):
    """Creates a bundle of `members` files of `each` bytes. The competition publishes every n-th file, `used` in all."""
    id = f"large-{name}"
    declare(world.pipelines, id, GALLERY, seed=99, inside="")
    path = world.source / f"{id}.zip"
    if not path.exists():
        # Members must be different, and fast to create.
        noise, step = os.urandom(1 << 26), members // used
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
            rows = "".join(f"{i},{'ab'[i // step % 2]}\n" for i in range(0, members, step))
            bundle.writestr("train.csv", "id,artist\n" + rows)
            for i in range(members):
                at = i * 7919 % (len(noise) - each)
                bundle.writestr(f"pictures/{i}.jpg", i.to_bytes(8, "big") + noise[at:at + each - 8])
    return id


def tenth(world):
    """Measures the bytes transferred from a mirrored bundle of 2 GB, of which a tenth is used."""
    messages = []
    for name, members, each in (("1MB", 2000, 1_000_000), ("100kB", 20000, 100_000)):
        with server(world, f"tenth-{name}") as (weed, remote):
            id = large(world, name, members=members, each=each, used=members // 10)
            one = Machine(world, "one", remote, weed.url)
            one.call("fetch", "--source", world.source, "--skip-bundle-verification", id)
            (world.source / f"{id}.zip").unlink()
            gate = Throttle(weed.port, rate=1e12)
            two = Machine(world, "two", remote, f"http://127.0.0.1:{gate.port}", trusted=[one.key], mirror=False)
            two.run(ids=[id], source=False)
            moved = gate.passed
            gate.close()
            useful = sum(path.stat().st_size for path in two.home.glob("data/*/prepared/public/t*/*.jpg"))
            assert not list(two.home.glob("data/*/*.zip"))
            messages.append(f"members of {name}: {moved / 1e6:.0f} MB moved for {useful / 1e6:.0f} MB, {moved / useful:.3f} times as much")
        shutil.rmtree(weed.base)
        shutil.rmtree(two.home)
    return "; ".join(messages) + " (target: at most 1.15 times as much)"


def scaling(world):
    """Measures the time of 1, 2 and 4 workers with limited bandwidth each, compared with the ideal time."""
    import threading
    with server(world, "scaling") as (weed, remote):
        ids = [large(world, f"s{n}", members=40, each=500_000, used=40) for n in range(8)]
        one = Machine(world, "one", remote, weed.url)
        one.call("fetch", "--source", world.source, "--skip-bundle-verification", *ids)
        rate = 3_000_000
        times = {}
        for count in (1, 2, 4):
            gates = [Throttle(weed.port, rate) for _ in range(count)]
            workers = [Machine(world, f"s{n}", remote, f"http://127.0.0.1:{gate.port}", trusted=[one.key], mirror=False)
                       for n, gate in enumerate(gates, 1)]
            began = time.time()
            running = [worker.start("run", "--skip-verification", "--no-download", "--unit", f"{n}/{count}", *ids)
                       for n, worker in enumerate(workers, 1)]
            for process in running:
                out, err = process.communicate()
                assert process.returncode == 0, err
            times[count] = time.time() - began
            for gate in gates:
                gate.close()
            for worker in workers:
                shutil.rmtree(worker.home)
            for key in weed.keys("lab", "team/v1/ledger/"):
                weed.client().delete_object(Bucket="lab", Key=key)
        parts = [f"{count} workers: {taken:.1f} s, {taken * count / times[1]:.2f} times the ideal time" for count, taken in times.items()]
        return f"{rate / 1e6:.0f} MB/s per worker; " + "; ".join(parts) + " (target: at most 1.15 times the ideal time)"


class Throttle:
    """Forwards connections, with a limit of bytes per second to the client for all connections together."""

    def __init__(self, target, rate):
        import socket
        import threading
        self.target, self.rate, self.spent, self.lock = target, rate, time.time(), threading.Lock()
        self.passed = 0
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        import socket
        import threading
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            there = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.passes, args=(client, there, False), daemon=True).start()
            threading.Thread(target=self.passes, args=(there, client, True), daemon=True).start()

    def passes(self, source, to, slowly):
        try:
            while data := source.recv(65536):
                if slowly:
                    with self.lock:
                        self.passed += len(data)
                        now = time.time()
                        self.spent = max(self.spent, now) + len(data) / self.rate
                        pause = self.spent - now
                    if pause > 0:
                        time.sleep(pause)
                to.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, to):
                try:
                    one.shutdown(2)
                except OSError:
                    pass

    def close(self):
        self.socket.close()


ALL = {
    "shared": shared, "twice": twice, "killed-upload": killed_upload, "corrupted": corrupted, "forged": forged,
    "clock": clock, "full": full, "revoked": revoked, "away": away, "prefixes": prefixes, "pull-time": pull_time,
    "tenth": tenth, "scaling": scaling,
}


class Slurm:
    """Three nodes on one machine."""

    def __init__(self, world):
        for program in ("slurmctld", "slurmd", "sbatch", "munged"):
            if not shutil.which(program):
                raise MissingTool("no Slurm (apt-get install slurmctld slurmd slurm-client munge)")
        self.base = world.base / "slurm"
        shutil.rmtree(self.base, ignore_errors=True)
        for name in ("state", "spool", "log"):
            (self.base / name).mkdir(parents=True)
        self.processes = {}
        ports = [free_port() for _ in range(4)]
        host = os.uname().nodename
        memory = 2000
        nodes = "".join(
            f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory={memory} TmpDisk=1000 State=UNKNOWN "
            # Slurm prefers the node with the lowest weight. The scenario `slurmd` kills this node.
            f"Weight={1 if n == 2 else 10}\n"
            for n, port in enumerate(ports[1:], 1))
        self.conf = self.base / "slurm.conf"
        self.conf.write_text(
            f"ClusterName=lab\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={ports[0]}\nSlurmUser=root\nSlurmdUser=root\n"
            f"AuthType=auth/munge\nStateSaveLocation={self.base}/state\nSlurmdSpoolDir={self.base}/spool/%n\n"
            f"SlurmctldPidFile={self.base}/ctld.pid\nSlurmdPidFile={self.base}/%n.pid\nSlurmctldLogFile={self.base}/log/ctld\n"
            f"SlurmdLogFile={self.base}/log/%n\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nReturnToService=2\n"
            f"SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdTimeout=10\nSlurmctldTimeout=10\n"
            f"MpiDefault=none\nSwitchType=switch/none\nJobAcctGatherType=jobacct_gather/none\nInactiveLimit=0\nMinJobAge=300\n"
            f"KillWait=2\nBatchStartTimeout=5\nMessageTimeout=5\nJobRequeue=1\n{nodes}"
            f"PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP\n")
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf)}

    def start(self):
        if subprocess.run(["munge", "-n"], capture_output=True).returncode:
            Path("/run/munge").mkdir(exist_ok=True)
            subprocess.run(["chown", "-R", "munge:munge", "/run/munge", "/var/lib/munge", "/var/log/munge", "/etc/munge"])
            subprocess.run(["runuser", "-u", "munge", "--", "munged"], check=True)
        self.processes["ctld"] = self.daemon("slurmctld", "-D", "-f", self.conf)
        time.sleep(2)
        for n in (1, 2, 3):
            self.node(n)
        end = time.time() + 60
        while time.time() < end:
            states = self.output_of("sinfo", "-h", "-o", "%T", "-N").split()
            if len(states) == 3 and set(states) == {"idle"}:
                return self
            time.sleep(1)
        raise AssertionError(f"nodes do not come up: {states}")

    def node(self, n):
        self.processes[f"n{n}"] = self.daemon("slurmd", "-D", "-N", f"n{n}", "-f", self.conf)

    def daemon(self, *words):
        log = open(self.base / "log" / "out", "a")
        return subprocess.Popen([str(word) for word in words], env=self.environment, stdout=log, stderr=log)

    def output_of(self, *words):
        result = subprocess.run([str(word) for word in words], env=self.environment, capture_output=True, text=True)
        return result.stdout

    def submit(self, script, machine):
        environment = {**self.environment, **machine.environment, "PREP": machine.world.prep, "PREP_SCRATCH": str(machine.home / "scratch")}
        done = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True, cwd=self.base)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait(self, seconds):
        """Waits until no job is left. Fails if there are still jobs after `seconds`."""
        end = time.time() + seconds
        while time.time() < end:
            left = self.output_of("squeue", "-h", "-r", "-o", "%i %T %r")
            if not left.strip():
                return
            time.sleep(1)
        raise AssertionError(f"jobs are still there: {left}")

    def stop(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def slurm_cluster(world, name):
    """Starts Slurm, an S3 server and a submitting machine, and creates the script with `prep remote jobs slurm`."""
    slurm = Slurm(world)
    with server(world, name) as (weed, remote):
        home = Machine(world, "submitter", remote, weed.url)
        script = home.home / "prepare.sh"
        words = ["--workers", "3", "--processors", "1", "--memory", "256MB"]
        text = home.call("remote", "jobs", "slurm", *words, *world.ids).stdout
        # Adapt the script, because the nodes are small and bundles are in a directory instead of on Kaggle.
        text = text.replace("--mem=4096M", "--mem=500M").replace("--cpus-per-task=2", "--cpus-per-task=1")
        lines = [line if "--mem=" not in line else line for line in text.splitlines()]
        text = "\n".join(lines) + "\n"
        import re
        text = re.sub(r"--mem=\d+M --tmp=\d+M", "--mem=500M", text)
        text = text.replace("fetch --unit", f"fetch --source {world.source} --skip-bundle-verification --unit")
        text = text.replace("run --unit", "run --skip-verification --no-download --unit")
        assert ADMIN[1] not in text
        script.write_text(text)
        try:
            slurm.start()
            yield slurm, home, script
        finally:
            slurm.stop()


def slurm(world):
    """The script of `prep remote jobs slurm` runs on three nodes, and is submitted twice."""
    with slurm_cluster(world, "slurm-store") as (cluster, home, script):
        cluster.submit(script, home)
        cluster.submit(script, home)
        cluster.wait(500)
        assert home.tree() == world.expected_tree(), "another tree"
        return f"{len(home.tree())} files equal those of a single machine"


def slurmd(world):
    """A node's slurmd and its tasks are killed while they work."""
    with slurm_cluster(world, "slurmd-store") as (cluster, home, script):
        cluster.submit(script, home)
        end = time.time() + 200
        while time.time() < end:
            running = cluster.output_of("squeue", "-h", "-r", "-t", "R", "-n", "prep-prepare", "-o", "%i %N")
            on = [line for line in running.splitlines() if line.endswith(" n2")]
            if on:
                break
            time.sleep(0.05)
        else:
            raise AssertionError("no task ran on n2")
        victim = cluster.processes.pop("n2")
        children = subprocess.run(["pgrep", "-P", str(victim.pid)], capture_output=True, text=True).stdout.split()
        kill(victim)
        job = on[0].split()[0]
        for pid in children:
            subprocess.run(["kill", "-9", pid])
        cluster.wait(500)
        assert home.tree() == world.expected_tree(), "another tree"
        return f"task {job} was on the node; the tree equals that of a single machine"


def k8s(world):
    """Validates the manifest of `prep remote jobs k8s` against Kubernetes' schema. The manifest is not run."""
    one = Machine(world, "one", "s3://lab/team", "http://127.0.0.1:1")
    manifest = one.home / "prepare.yaml"
    manifest.write_text(one.call("remote", "jobs", "k8s", "--image", "registry.lab.org/prep:1", *world.ids).stdout)
    validate = Path(world.weed).with_name("kubernetes-validate")
    held = subprocess.run([validate, "--strict", manifest], capture_output=True, text=True)
    assert held.returncode == 0, held.stderr + held.stdout
    return (held.stderr + held.stdout).strip().splitlines()[-1]


def cut_off(world):
    """A shared directory is disconnected while a node prepares into it. The other node has its own mount."""
    if not Path("/dev/fuse").exists():
        raise MissingTool("no /dev/fuse")
    base = world.base / "fuse"
    subprocess.run(["umount", "-l", str(base / "m1")], capture_output=True)
    subprocess.run(["umount", "-l", str(base / "m2")], capture_output=True)
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    meta = f"sqlite3://{base}/meta.db"
    call = lambda *words: subprocess.run([world.juicefs, *map(str, words)], check=True, capture_output=True)
    call("format", meta, "lab", "--storage", "file", "--bucket", f"{base}/objects/", "--trash-days", 0)
    mounts, daemons = [base / "m1", base / "m2"], []
    try:
        for mount in mounts:
            mount.mkdir()
            log = open(f"{mount}.log", "a")
            words = ["mount", meta, mount, "--no-usage-report", "--cache-dir", f"{mount}.cache"]
            daemons.append(subprocess.Popen([world.juicefs, *map(str, words)], stdout=log, stderr=log))
            end = time.time() + 30
            while not os.path.ismount(mount):
                assert time.time() < end, "JuiceFS does not mount"
                time.sleep(0.2)
        with server(world, "cut-off") as (weed, remote):
            one = Machine(world, "one", remote, weed.url)
            two = Machine(world, "two", remote, weed.url, trusted=[one.key])
            ids = world.ids
            words = ["run", "--skip-verification", "--no-download", "--json", "--source", world.source, *ids]
            running = subprocess.Popen(
                [world.prep, *map(str, words), "--data-dir", mounts[0] / "data", "--cache-dir", one.home / "store"],
                env=one.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(1.5)
            subprocess.run(["umount", "-l", str(mounts[0])])
            children = subprocess.run(["pgrep", "-P", str(daemons[0].pid)], capture_output=True, text=True).stdout.split()
            kill(daemons[0])
            for pid in children:
                subprocess.run(["kill", "-9", pid])
            out, err = running.communicate(timeout=120)
            ended = subprocess.run(
                [world.prep, *map(str, words), "--data-dir", mounts[1] / "data", "--cache-dir", two.home / "store"],
                env=two.environment, capture_output=True, text=True, timeout=300)
            assert ended.returncode == 0, ended.stderr
            assert tree(mounts[1] / "data") == world.expected_tree()
            first = [line for line in err.splitlines() if line.startswith("error")][:1]
            return f"the first node ended with {running.returncode} ({' '.join(first)[:120]}), the second made the whole tree"
    finally:
        for mount in mounts:
            subprocess.run([world.juicefs, "umount", "--force", str(mount)], capture_output=True)
        for daemon in daemons:
            daemon.terminate()


ALL |= {"slurm": slurm, "slurmd": slurmd, "k8s": k8s, "cut-off": cut_off}
