"""A generated competition: its public files, its answers, and the code that writes them to disk."""

import csv
import io
import json
import os
import struct
import wave
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

PIPELINE = """name: {id}
category: Tabular
bundle: {{ kaggle: {id} }}

tables:
  answers: {{ read: answers.csv }}

public:
  sample_submission.csv: SELECT * FROM answers

private:
  answers.csv: SELECT * FROM answers

grade:
  answers: private/answers.csv
  sample: public/sample_submission.csv
  rules:
    - columns: [{key}, {label}]
    - same_rows
    - align: {key}
  metric: {{ accuracy: {label} }}
"""


@dataclass
class Competition:
    """A generated competition.

    An item is an index into `ids`, `answers`, `truth` and `level`. Training items come before test items.
    `answers` are texts, `truth` are the same answers as numbers, and `level` are the answers with mean 0. `files` maps
    the paths of public files to their contents, and `times` maps some of these paths to modification times.
    """

    seed: int
    n_train: int = 600
    n_test: int = 300
    # The kind of answers: `binary`, `classes` or `numbers`.
    task: str = "binary"
    key: str = "id"
    label: str = "target"
    files: dict = field(default_factory=dict)
    times: dict = field(default_factory=dict)
    # Further columns by name. In the answers and the sample submission, they come before the id.
    lead: dict = field(default_factory=dict)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        n = self.n_train + self.n_test
        class_counts = {"binary": 2, "classes": 4}
        if self.task == "numbers":
            self.truth = np.round(self.rng.normal(50, 12, n), 4)
            self.answers = [f"{v:.4f}" for v in self.truth]
            self.level = (self.truth - 50) / 12
        else:
            k = class_counts[self.task]
            self.truth = self.rng.integers(0, k, n)
            words = [str(i) for i in range(k)] if k == 2 else ["ash", "birch", "cedar", "elm"]
            self.answers = [words[t] for t in self.truth]
            self.level = self.truth - self.truth.mean()
        self.ids = [f"{v:08x}" for v in self.rng.choice(2**32, n, replace=False)]
        self.order_train = list(range(self.n_train))
        self.order_test = list(range(self.n_train, n))

    @property
    def n(self):
        return self.n_train + self.n_test

    def is_train(self, item):
        return item < self.n_train

    def part(self, item):
        return "train" if self.is_train(item) else "test"

    def noisy_label(self, strength):
        """Returns each item's class or number, or with probability 1 - strength that of a random item."""
        other = self.rng.permutation(self.truth)
        keep = self.rng.random(self.n) < strength
        return np.where(keep, self.truth, other)

    def features(self, signal=0.8):
        """Returns intended features. Two of them predict the answer, the others do not."""
        rng, n = self.rng, self.n
        return {
            "reading": [f"{v:.4f}" for v in self.level * signal + rng.normal(0, 1, n)],
            "pressure": [f"{v:.2f}" for v in 40 + 6 * rng.normal(0, 1, n)],
            "count": [str(v) for v in rng.poisson(7, n)],
            "colour": [["red", "green", "blue"][v] for v in rng.integers(0, 3, n)],
            "ratio": [f"{v:.3f}" for v in 0.5 * self.level * signal + rng.normal(0, 1, n)],
        }

    def table(self, columns, order, labels, key_first=True):
        names = [self.key] + list(columns) + ([self.label] if labels else [])
        rows = []
        for item in order:
            row = [self.ids[item]] + [columns[c][item] for c in columns]
            rows.append(row + ([self.answers[item]] if labels else []))
        return names, rows

    def add_tables(self, columns):
        self.columns = columns
        self.files["train.csv"] = to_csv(*self.table(columns, self.order_train, True))
        self.files["test.csv"] = to_csv(*self.table(columns, self.order_test, False))

    def default_answer(self):
        return {"binary": "0", "classes": "ash", "numbers": "50.0"}[self.task]

    def write(self, root, id):
        """Writes the competition into the data directory `root/data`, and writes its pipeline."""
        prepared = Path(root) / "data" / id / "prepared"
        public, private = prepared / "public", prepared / "private"
        private.mkdir(parents=True)
        lead = [[cells[i] for cells in self.lead.values()] for i in self.order_test]
        rows = [more + [self.ids[i], self.answers[i]] for more, i in zip(lead, self.order_test)]
        names = [*self.lead, self.key, self.label]
        if "sample_submission.csv" not in self.files:
            sample = [row[:-1] + [self.default_answer()] for row in rows]
            self.files["sample_submission.csv"] = to_csv(names, sample)
        (private / "answers.csv").write_bytes(to_csv(names, rows))
        paths = sorted(self.files)
        for number, path in enumerate(paths):
            place = public / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self.files[path])
            time = self.times.get(path, 1_600_000_000)
            os.utime(place, (time, time))
        pipelines = Path(root) / "pipelines" / id
        pipelines.mkdir(parents=True)
        text = PIPELINE.format(id=id, key=self.key, label=self.label)
        (pipelines / "pipeline.yaml").write_text(text)


def to_csv(names, rows, delimiter=",", quoting=csv.QUOTE_MINIMAL):
    """Returns a table as CSV with the header `names`."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue().encode()


def png(pixels, info=None, level=6):
    """Returns a PNG file."""
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(out, "PNG", pnginfo=info, compress_level=level)
    return out.getvalue()


def jpeg(pixels, quality=90, exif=None):
    """Returns a JPEG file."""
    out = io.BytesIO()
    extra = {"exif": exif} if exif is not None else {}
    Image.fromarray(pixels.astype(np.uint8)).save(out, "JPEG", quality=quality, **extra)
    return out.getvalue()


def picture(rng, level, side=48, signal=12.0):
    """Returns the pixels of a picture: soft spots, a gradient and noise. The brightness depends on `level`."""
    y, x = np.mgrid[0:side, 0:side] / side
    light = 90 + signal * level + rng.normal(0, 25) * (x - 0.5) + rng.normal(0, 25) * (y - 0.5)
    for _ in range(5):
        cx, cy, w = rng.random(), rng.random(), 0.05 + 0.2 * rng.random()
        light += rng.normal(0, 60) * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * w * w))
    return np.clip(light + rng.normal(0, 5, light.shape), 0, 255)


def wav(samples, rate=8000, tail=b""):
    """Returns a WAV file of samples between -1 and 1, followed by `tail`."""
    out = io.BytesIO()
    with wave.open(out, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue() + tail


def tone(rng, level, length=4000):
    """Returns the samples of a tone. Its pitch rises with `level`, the answer as a number."""
    t = np.arange(length) / 8000
    swell = np.interp(t, np.linspace(0, t[-1], 9), rng.random(9))
    pitch = 300 + 40 * level + rng.normal(0, 60)
    return swell * np.sin(2 * np.pi * pitch * t) * 0.6 + rng.normal(0, 0.02, length)


WORDS = (
    "river stone window garden letter morning engine paper silver bridge market winter summer doctor "
    "captain yellow candle forest mountain kitchen travel answer village island mirror station writer "
    "shadow blanket ticket copper harbor ladder melody orchard pepper quarter ribbon saddle timber"
).split()


def sentence(rng, level, words=24, signal=1.2):
    """Returns random words. Which words are frequent depends on `level`, the answer as a number."""
    weights = np.exp(signal * level * np.linspace(-1, 1, len(WORDS)) * 0.6)
    return " ".join(rng.choice(WORDS, words, p=weights / weights.sum()))


def tfrecord(examples):
    """Returns a TFRecord file. `examples` are dicts from names to bytes, integers or floats."""

    def varint(value):
        value &= (1 << 64) - 1
        out = b""
        while True:
            low, value = value & 0x7F, value >> 7
            out += bytes([low | (0x80 if value else 0)])
            if not value:
                return out

    def message(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content

    def feature(value):
        if isinstance(value, bytes):
            return message(1, message(1, value))
        if isinstance(value, float):
            return message(2, message(1, struct.pack("<f", value)))
        return message(3, message(1, varint(int(value))))

    table = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)

    def masked(data):
        c = 0xFFFFFFFF
        for byte in data:
            c = table[(c ^ byte) & 0xFF] ^ c >> 8
        c ^= 0xFFFFFFFF
        return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF

    out = b""
    for example in examples:
        entries = b"".join(
            message(1, message(1, name.encode()) + message(2, feature(value)))
            for name, value in example.items()
        )
        record = message(1, entries)
        head = struct.pack("<Q", len(record))
        out += head + struct.pack("<I", masked(head)) + record + struct.pack("<I", masked(record))
    return out


def npy(array):
    """Returns a file in the format of NumPy."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def zipped(members, times=None, methods=None):
    """Returns a zip archive with the (name, content) pairs of `members`, in their order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number, (name, content) in enumerate(members):
            time = (times or {}).get(name, (2020, 1, 1, 0, 0, 0))
            info = zipfile.ZipInfo(name, time)
            info.compress_type = (methods or {}).get(name, zipfile.ZIP_DEFLATED)
            archive.writestr(info, content)
    return out.getvalue()


def mat(variables):
    """Returns a MATLAB file of version 5. `variables` maps names to arrays of doubles or to strings."""
    out = (b"MATLAB 5.0 MAT-file" + b" " * 200)[:124] + b"\x00\x01IM"

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    for name, value in variables.items():
        if isinstance(value, str):
            flags, dims = 4, (1, len(value))
            data = element(4, value.encode("utf-16-le"))
        else:
            value = np.atleast_2d(np.asarray(value, float))
            flags, dims = 6, value.shape
            data = element(9, value.T.tobytes())
        body = element(6, struct.pack("<II", flags, 0)) + element(5, struct.pack("<ii", *dims))
        body += element(1, name.encode()) + data
        packed = zlib.compress(element(14, body))
        out += struct.pack("<II", 15, len(packed)) + packed
    return out


def dump(value):
    """Returns a value as JSON."""
    return json.dumps(value).encode()
