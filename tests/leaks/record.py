"""Creates bundles from the recorded cases, and adds the leaks of the real bundles.

    python record.py            (needs numpy and scipy)

Each bundle is `tests/cases/ID/seed0/raw.zip` plus the leaking files of Kaggle's bundle. These files are in the training
part, never in Kaggle's own test part. All values are made up.
"""

import csv
import io
import json
import random
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import scipy.io

HERE = Path(__file__).resolve().parent
CASES = HERE.parent / "cases"
TIME = (2024, 1, 1, 0, 0, 0)


def case(id):
    with zipfile.ZipFile(CASES / id / "seed0" / "raw.zip") as raw:
        return {name: raw.read(name) for name in raw.namelist() if not name.endswith("/")}


def save(id, files):
    with zipfile.ZipFile(HERE / f"{id}.zip", "w", zipfile.ZIP_DEFLATED) as out:
        for name in sorted(files):
            out.writestr(zipfile.ZipInfo(name, TIME), files[name], zipfile.ZIP_DEFLATED)


def pizza():
    """Some successful requests name the user who gave the pizza. No other request does."""
    files = case("random-acts-of-pizza")
    rng = random.Random(1)
    labelled = json.loads(files["train.json"])
    records = []
    for number in range(900):
        record = dict(rng.choice(labelled))
        got = rng.random() < 0.25
        known = got and rng.random() < 0.5
        record["request_id"] = f"t3_{number:05x}"
        record["requester_received_pizza"] = got
        record["giver_username_if_known"] = f"user{rng.randrange(10**6)}" if known else "N/A"
        record["requester_username"] = f"asker{rng.randrange(10**6)}"
        records.append(record)
    files["train.json"] = json.dumps(records).encode()
    # The test part has the same relative size as Kaggle's.
    unlabelled = json.loads(files["test.json"])[0]
    files["test.json"] = json.dumps([{**unlabelled, "request_id": f"u3_{n:05x}"} for n in range(370)]).encode()
    save("random-acts-of-pizza", files)


def smartphone():
    """The log of the reference receiver is next to the phone's, in training drives only."""
    files = case("smartphone-decimeter-2022")
    for name in [name for name in files if name.endswith("ground_truth.csv")]:
        directory = name.rsplit("/", 1)[0]
        lines = []
        for row in csv.DictReader(io.StringIO(files[name].decode())):
            def angle(value, digits):
                value = float(value)
                degrees = int(abs(value))
                return f"{degrees:0{digits}d}{(abs(value) - degrees) * 60:011.8f}"
            latitude, longitude = row["LatitudeDegrees"], row["LongitudeDegrees"]
            lines.append(
                f"$GPGGA,{int(row['UnixTimeMillis']) % 86400000 / 1000:.2f},{angle(latitude, 2)},"
                f"{'N' if float(latitude) >= 0 else 'S'},{angle(longitude, 3)},"
                f"{'E' if float(longitude) >= 0 else 'W'},4,10,0.9,12.3,M,0,M,,*00")
        files[f"{directory}/supplemental/span_log.nmea"] = "\n".join(lines).encode()
    # Kaggle's own test part is like a training drive, without truth and log.
    files = {name: content for name, content in files.items() if not name.startswith("test/")}
    for name in list(files):
        part, *rest = name.split("/")
        if part == "train" and len(rest) > 1 and rest[-1] not in ["ground_truth.csv", "span_log.nmea"]:
            files["/".join(["test", *rest]).replace("2020-", "2022-").replace("2021-", "2022-")] = files[name]
    save("smartphone-decimeter-2022", files)


def gesture():
    """The labels are in the same file as the skeleton, except in the validation part."""
    files = case("multi-modal-gesture-recognition")
    rng = random.Random(2)
    names = ["vattene", "vieniqui", "perfetto", "furbo", "cheduepalle", "chevuoi"]
    for archive in [name for name in files if name.endswith(".tar.gz")]:
        with tarfile.open(fileobj=io.BytesIO(files[archive])) as old:
            members = [(one.name, old.extractfile(one).read()) for one in old.getmembers() if one.isfile()]
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=9) as new:
            for name, content in members:
                if name.endswith(".zip"):
                    content = with_matlab(content, rng, names if archive.startswith("training") else None)
                info = tarfile.TarInfo(name)
                info.size = len(content)
                new.addfile(info, io.BytesIO(content))
        files[archive] = out.getvalue()
    save("multi-modal-gesture-recognition", files)


def with_matlab(content, rng, names):
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    for name in members:
        if name.endswith("_data.mat"):
            video = {"NumFrames": 100.0, "FrameRate": 20.0, "Frames": np.arange(12.0).reshape(3, 4)}
            if names:
                video["Labels"] = np.array(
                    [(rng.choice(names), float(10 * i + 1), float(10 * i + 9)) for i in range(5)],
                    dtype=[("Name", object), ("Begin", object), ("End", object)])
            out = io.BytesIO()
            scipy.io.savemat(out, {"Video": video}, do_compression=True)
            # The first bytes are the time of writing.
            members[name] = b"MATLAB 5.0 MAT-file".ljust(116) + out.getvalue()[116:]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in members:
            new.writestr(zipfile.ZipInfo(name, TIME), members[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def message(number, content):
    return bytes([number << 3 | 2, *varint(len(content))]) + content


def varint(value):
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def example(features):
    entries = b""
    for name, value in features.items():
        if isinstance(value, int):
            feature = message(3, message(1, bytes(varint(value))))
        else:
            feature = message(1, message(1, value))
        entries += message(1, message(1, name.encode()) + message(2, feature))
    return message(1, entries)


def records(examples):
    out = b""
    for payload in examples:
        length = struct.pack("<Q", len(payload))
        out += length + masked(length) + payload + masked(payload)
    return out


def image_names(content):
    place = 0
    while place < len(content):
        length = struct.unpack_from("<Q", content, place)[0]
        payload = content[place + 12:place + 12 + length]
        start = payload.index(b"ISIC_")
        yield payload[start:start + 12]
        place += 16 + length


def melanoma():
    """Records of training images contain the label; those of Kaggle's test images do not."""
    files = case("siim-isic-melanoma-classification")
    truth = {row["image_name"]: row for row in csv.DictReader(io.StringIO(files["train.csv"].decode()))}
    for name in [name for name in files if name.endswith(".tfrec")]:
        is_test = name.startswith("tfrecords/test")
        examples = []
        for image in image_names(files[name]):
            features = {"image": b"\xff\xd8" + image, "image_name": image, "sex": 1, "patient_id": 7}
            row = truth.get(image.decode())
            if not is_test and row:
                features |= {"target": int(row["target"]), "diagnosis": int(row["target"])}
            examples.append(example(features))
        files[name] = records(examples)
    save("siim-isic-melanoma-classification", files)


def brains():
    """Replaces the patients, so that each patient has several recordings."""
    files = case("hms-harmful-brain-activity-classification")
    rows = list(csv.reader(io.StringIO(files["train.csv"].decode())))
    spectrogram, patient = rows[0].index("spectrogram_id"), rows[0].index("patient_id")
    ids = sorted({row[spectrogram] for row in rows[1:]})
    for row in rows[1:]:
        row[patient] = str(1000 + ids.index(row[spectrogram]) // 3)
    files["train.csv"] = "".join(",".join(row) + "\n" for row in rows).encode()
    save("hms-harmful-brain-activity-classification", files)


def pages():
    """Gives two dirty pages the same clean page."""
    files = case("denoising-dirty-documents")
    with zipfile.ZipFile(io.BytesIO(files["train_cleaned.zip"])) as old:
        members = {name: old.read(name) for name in old.namelist()}
    names = sorted(name for name in members if name.endswith(".png"))
    for number, name in enumerate(names):
        members[name] = members[names[number // 2 * 2]]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in members:
            new.writestr(zipfile.ZipInfo(name, TIME), members[name], zipfile.ZIP_DEFLATED)
    files["train_cleaned.zip"] = out.getvalue()
    save("denoising-dirty-documents", files)


for make in [pizza, smartphone, gesture, melanoma, brains, pages]:
    make()
for id in ["hubmap-kidney-segmentation", "tensorflow-speech-recognition-challenge"]:
    save(id, case(id))
