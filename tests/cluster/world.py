"""Building blocks of the cluster scenarios: an S3 server, machines, and made-up competitions."""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
import random
from pathlib import Path

ADMIN = ("admin", "admin-secret")
READER = ("reader", "reader-secret")
TABLE = """\
name: {id}
category: Tabular
bundle: {{ kaggle: {id} }}
tables:
  labelled: {{ read: train.csv, columns: {{ id: integer, group: text, value: inferred }} }}
  train, test: {{ split: labelled, method: shuffle, test_size: 0.{size}, seed: {seed} }}
public:
  train.csv: SELECT * FROM train
  test.csv: SELECT * EXCLUDE (value) FROM test
private:
  test.csv: SELECT id, value FROM test
checks:
  disjoint: train.id and test.id
"""
GALLERY = """\
name: {id}
category: Image Classification
bundle: {{ kaggle: {id} }}
tables:
  labelled: {{ read: train.csv, columns: {{ id: integer, artist: text }} }}
  pictures: {{ files: {inside}pictures/* }}
  train, test: {{ split: labelled, method: shuffle, test_size: 0.4, seed: {seed} }}
public:
  train.csv: SELECT * FROM train
  train/: SELECT p.file FROM train t JOIN pictures p ON p.stem = CAST(t.id AS VARCHAR)
  test/: SELECT p.file FROM test t JOIN pictures p ON p.stem = CAST(t.id AS VARCHAR)
private:
  test.csv: SELECT * FROM test
"""


def free_port():
    """Returns a free port for which port + 10,000 is also free, because SeaweedFS uses both."""
    while True:
        port = random.randrange(20000, 50000)
        try:
            for number in (port, port + 10000):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue


def say(*words):
    print(*words, flush=True)


def declare(pipelines, id, text, **values):
    """Writes the pipeline and the leaderboard of a competition."""
    home = pipelines / id
    home.mkdir(parents=True, exist_ok=True)
    (home / "leaderboard.csv").write_text("score\n0.9\n0.5\n")
    (home / "pipeline.yaml").write_text(text.format(id=id, **values))


def competitions(directory, pipelines, scale=1):
    """Creates twelve competitions: tables, galleries, and galleries in an archive inside the bundle. Returns their ids."""
    ids = []
    directory.mkdir(parents=True, exist_ok=True)
    for n in range(12):
        kind = ("table", "gallery", "nested")[n % 3]
        id = f"{kind}-{n}" if kind == "table" else f"gallery-{n}"
        inside = "pictures.zip/" if kind == "nested" else ""
        if kind == "table":
            declare(pipelines, id, TABLE, seed=n, size=1 + n % 4)
        else:
            declare(pipelines, id, GALLERY, seed=n, inside=inside)
        chance = random.Random(n)
        with zipfile.ZipFile(directory / f"{id}.zip", "w", zipfile.ZIP_DEFLATED) as bundle:
            if kind == "table":
                rows = (f"{i},g{chance.randrange(9)},{chance.random():.6f}" for i in range(2000 * scale * (n + 1)))
                bundle.writestr("train.csv", "id,group,value\n" + "\n".join(rows) + "\n")
                ids.append(id)
                continue
            count = 60 * (n + 1)
            bundle.writestr("train.csv", "id,artist\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(count)))
            pictures = [(f"pictures/{i}.jpg", chance.randbytes(chance.randrange(2000 * scale))) for i in range(count)]
            if kind == "nested":
                inner = directory / "inner.zip"
                with zipfile.ZipFile(inner, "w") as within:
                    for name, content in pictures:
                        within.writestr(name, content)
                bundle.write(inner, "pictures.zip")
                inner.unlink()
            else:
                for name, content in pictures:
                    bundle.writestr(name, content)
        ids.append(id)
    return ids


class S3Server:
    """SeaweedFS as an S3 server."""

    def __init__(self, program, base, space=None):
        self.program, self.base, self.space = program, base, space
        self.port, self.process = free_port(), None
        self.ports = {name: free_port() for name in ("master", "volume", "filer")}
        base.mkdir(parents=True)
        if space:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={space}", "tmpfs", str(base)], check=True)
        (base / "data").mkdir()
        self.identities([ADMIN], [READER])

    def identities(self, writers, readers):
        def one(name, actions):
            return {"name": name[0], "credentials": [{"accessKey": name[0], "secretKey": name[1]}], "actions": actions}
        all = [one(name, ["Admin", "Read", "Write", "List", "Tagging"]) for name in writers]
        all += [one(name, ["Read", "List"]) for name in readers]
        (self.base / "keys.json").write_text(json.dumps({"identities": all}))

    def start(self):
        p = self.ports
        command = [self.program, "server", "-ip=127.0.0.1", f"-dir={self.base}/data", "-filer", "-s3",
                   f"-s3.port={self.port}", f"-s3.config={self.base}/keys.json", f"-master.port={p['master']}",
                   f"-volume.port={p['volume']}", f"-filer.port={p['filer']}", "-master.volumeSizeLimitMB=64",
                   "-volume.max=0" if not self.space else "-volume.max=8", "-volume.minFreeSpace=1", "-master.telemetry=false",
                   "-s3.port.iceberg=0", "-s3.port.lance=0"]
        log = open(self.base / "log", "a")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.base)
        end = time.time() + 60
        while time.time() < end:
            try:
                self.client().list_buckets()
                break
            except Exception:
                time.sleep(0.3)
        else:
            sys.exit("SeaweedFS does not start:\n" + (self.base / "log").read_text()[-3000:])
        return self

    def client(self, who=ADMIN):
        import boto3
        from botocore.config import Config
        config = Config(retries={"max_attempts": 2}, connect_timeout=3, read_timeout=60, s3={"addressing_style": "path"})
        return boto3.client("s3", endpoint_url=self.url, aws_access_key_id=who[0], aws_secret_access_key=who[1],
                            region_name="us-east-1", config=config)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name):
        end = time.time() + 30
        while True:
            try:
                self.client().create_bucket(Bucket=name)
                self.client().put_object(Bucket=name, Key="probe", Body=b"x")
                self.client().delete_object(Bucket=name, Key="probe")
                return f"s3://{name}/team"
            except Exception:
                if time.time() > end:
                    raise
                time.sleep(0.5)

    def keys(self, bucket, prefix=""):
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def close(self):
        self.stop()
        if self.space:
            subprocess.run(["umount", "-l", str(self.base)])


class Machine:
    """A machine: its directories, its key, and its trusted keys."""

    def __init__(self, world, name, remote, endpoint, trusted=(), who=ADMIN, mirror=True):
        self.world, self.name, self.home = world, name, world.base / "machines" / name
        shutil.rmtree(self.home, ignore_errors=True)
        config = self.home / "config" / "prep"
        config.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"),
                       "PREP_PIPELINES": str(world.pipelines), "AWS_ACCESS_KEY_ID": who[0],
                       "AWS_SECRET_ACCESS_KEY": who[1]}
        self.key = self.call("remote", "key", "new", name).stdout.strip()
        lines = ["[remote]", f'url = "{remote}"', f"trusted = {json.dumps(list(trusted))}"]
        lines += [f"mirror = {str(mirror).lower()}", f'endpoint = "{endpoint}"']
        (config / "prep.toml").write_text("\n".join(lines) + "\n")

    def command(self, *words):
        directories = ["--data-dir", str(self.home / "data"), "--cache-dir", str(self.home / "store")]
        return [self.world.prep, *map(str, words), *directories]

    def start(self, *words, environment=None):
        return subprocess.Popen(self.command(*words), env={**self.environment, **(environment or {})}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(self, *words, code=0, environment=None):
        process = self.start(*words, environment=environment)
        out, err = process.communicate(timeout=900)
        if code is not None:
            assert process.returncode == code, f"{self.name}: {words}: {process.returncode}\n{out}\n{err}"
        for secret in (ADMIN[1], READER[1]):
            assert secret not in out + err, "a secret was shown"
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def run(self, *words, ids=None, code=0, source=True, environment=None):
        ids = self.world.ids if ids is None else ids
        more = ["--source", self.world.source] if source else []
        return self.call("run", "--skip-verification", "--no-download", "--json", *more, *words, *ids, code=code, environment=environment)

    def tree(self):
        return tree(self.home / "data")

    def kinds(self, ended):
        """Returns the kinds of the steps that a command ran."""
        return sorted({one["kind"] for one in json.loads(ended.stdout)["timings"]})


def tree(data):
    """Returns the MD5 of each prepared file in a data directory, by path."""
    files = sorted(path for path in data.glob("*/prepared/**/*") if path.is_file())
    return {str(path.relative_to(data)): hashlib.md5(path.read_bytes()).hexdigest() for path in files}


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()
