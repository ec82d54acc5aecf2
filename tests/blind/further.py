"""A third set of leaks and clean competitions, written after the detectors had been tuned on the first two."""

import base64
import gzip
import io
import json
import pickle
import sqlite3
import tarfile
import tempfile
import zipfile

import numpy as np
from PIL import Image

from competition import (
    Competition, WORDS, dump, jpeg, npy, picture, png, sentence, tfrecord, to_csv, tone, wav, zipped,
)
from planted import media, number_of, pictures, slow_classes, tabular, task_of

LEAKS, CLEAN = {}, {}


def leak(function):
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def labels_only(one):
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])


def tarred(members, properties=None, mode="w"):
    """Writes a tar archive. Members are (name, content); `properties` maps names to attributes of their headers."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), 1_600_000_000
            for key, value in (properties or {}).get(name, {}).items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def in_tars(one, properties):
    """Writes pictures in train.tar and test.tar."""
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        members = [(f"{part}/{one.ids[i]}.png", png(picture(one.rng, one.level[i]))) for i in sorted(order, key=lambda i: one.ids[i])]
        of = {f"{part}/{one.ids[i]}.png": properties(i) for i in order}
        one.files[f"{part}.tar"] = tarred(members, of)
    return one


# ---- about files and members

@leak
def time_of_tar_members(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = number_of(one, one.noisy_label(strength))
    return in_tars(one, lambda i: {"mtime": 1_600_000_000 + int(3000 * guess[i] + 400 * one.rng.normal())})


@leak
def owner_of_tar_members(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    return in_tars(one, lambda i: {"uid": 1000 + int(guess[i]), "uname": f"user{int(guess[i])}"})


@leak
def time_in_inner_archive(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        names = {i: f"{one.ids[i]}.png" for i in order}
        times = {names[i]: (2020, 1 + int(guess[i]), 1 + int(one.rng.integers(0, 27)), 0, 0, 0) for i in order}
        inner = zipped([(names[i], png(picture(one.rng, one.level[i]))) for i in order], times)
        one.files["images.zip" if part == "test" else "train.zip"] = zipped([("readme.txt", b"x"), ("pictures.zip", inner)], methods={"pictures.zip": 8})
    return one


@leak
def extra_fields_of_members(seed, strength):
    """Zip members have extra fields of equal length whose content depends on the answer."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for i in order:
                info = zipfile.ZipInfo(f"{part}/{one.ids[i]}.png", (2020, 1, 1, 0, 0, 0))
                info.extra = b"\x75\x78\x04\x00" + bytes([1, 1, 100 + int(guess[i]), 0])
                archive.writestr(info, png(picture(one.rng, one.level[i])))
        one.files[f"{part}.zip"] = out.getvalue()
    return one


@leak
def compression_level_of_members(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for i in order:
                text = sentence(one.rng, one.level[i], int(one.rng.integers(150, 400))).encode()
                info = zipfile.ZipInfo(f"{part}/{one.ids[i]}.txt", (2020, 1, 1, 0, 0, 0))
                archive.writestr(info, text, 8, [1, 9][int(guess[i])])
        one.files[f"{part}.zip"] = out.getvalue()
    return one


@leak
def time_in_gzip_header(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    labels_only(one)
    for i in range(one.n):
        rows = to_csv(["s"], [[f"{v:.3f}"] for v in np.cumsum(one.rng.normal(0.02 * one.level[i], 1, 40))])
        time = 1_500_000_000 + 100_000 * int(guess[i]) + int(one.rng.integers(0, 5000))
        one.files[f"{one.part(i)}/{one.ids[i]}.csv.gz"] = gzip.compress(rows, mtime=time)
    return one


@leak
def ending_of_names(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    labels_only(one)
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}.{['jpg', 'JPG'][int(guess[i])]}"] = jpeg(picture(one.rng, one.level[i]))
    return one


@leak
def number_of_files_of_an_item(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    labels_only(one)
    for i in range(one.n):
        for k in range(2 + int(guess[i])):
            one.files[f"{one.part(i)}/{one.ids[i]}/{k}.png"] = png(picture(one.rng, one.level[i], 24))
    return one


@leak
def a_file_beside_some(seed, strength):
    one = pictures(seed, task="binary")
    guess = one.noisy_label(strength)
    for i in range(one.n):
        if guess[i]:
            one.files[f"{one.part(i)}/{one.ids[i]}.json"] = dump({"checked": True, "by": int(one.rng.integers(0, 9))})
    return one


@leak
def times_of_neighbours(seed, strength):
    """Files outside archives: in both parts, answers change slowly with modification time."""
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 10)
    labels_only(one)
    for place, i in enumerate(order):
        path = f"{one.part(i)}/{one.ids[i]}.png"
        one.files[path] = png(picture(one.rng, one.level[i]))
        one.times[path] = 1_600_000_000 + 30 * place
    return one


# ---- inside files

@leak
def label_in_xml(seed, strength):
    one = Competition(seed, task="classes")
    labels_only(one)
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}.png"] = png(picture(one.rng, one.level[i]))
        box = one.rng.integers(0, 20, 4)
        one.files[f"notes/{one.ids[i]}.xml"] = (f"<annotation><folder>x</folder><size><width>48</width><height>48</height></size>"
            f"<object><bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin></bndbox><name>{one.answers[i]}</name></object></annotation>").encode()
    return one


@leak
def one_xml_of_all(seed, strength):
    one = pictures(seed, task="classes")
    parts = [f'  <image id="{k}" name="{one.part(i)}/{one.ids[i]}.png">\n    <tag label="{one.answers[i]}"/>\n  </image>\n' for k, i in enumerate(one.rng.permutation(one.n))]
    one.files["annotations.xml"] = ("<annotations>\n" + "".join(parts) + "</annotations>\n").encode()
    return one


@leak
def lines_without_ids(seed, strength):
    """A text file with one line per test row, in the same order, that contains the answers."""
    one = tabular(seed)
    guess = one.noisy_label(max(strength, 0.97))
    lines = [one.answers[i] for i in one.order_test] if one.task == "numbers" else [f"c{int(guess[i])}" for i in one.order_test]
    one.files["extra/notes.txt"] = ("\n".join(lines) + "\n").encode()
    return one


@leak
def array_without_ids(seed, strength):
    one = tabular(seed)
    noise = one.rng.normal(0, 1, (one.n_test, 3))
    noise[:, 1] = [one.truth[i] for i in one.order_test]
    one.files["embeddings_test.npy"] = npy(noise)
    return one


@leak
def pickle_of_answers(seed, strength):
    one = tabular(seed, task_of(seed, False))
    one.files["cache.pkl"] = pickle.dumps({one.ids[i]: f"class-{one.answers[i]}" for i in one.rng.permutation(one.n)})
    return one


@leak
def database_of_answers(seed, strength):
    one = tabular(seed, task_of(seed, False))
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        base = sqlite3.connect(file.name)
        base.execute("create table items (name text, grade text)")
        base.executemany("insert into items values (?, ?)", [(one.ids[i], f"class-{one.answers[i]}") for i in one.rng.permutation(one.n)])
        base.commit()
        base.close()
        one.files["index.db"] = open(file.name, "rb").read()
    return one


@leak
def number_with_unit(seed, strength):
    one = tabular(seed, "numbers")
    rows = [[one.ids[i], f"{one.truth[i]:.4f} kg", one.rng.choice(WORDS)] for i in one.rng.permutation(one.n)]
    one.files["weights.csv"] = to_csv(["sample", "mass", "box"], rows)
    return one


@leak
def number_with_comma(seed, strength):
    one = tabular(seed, "numbers")
    rows = [[one.ids[i], f"{one.truth[i]:.4f}".replace(".", ","), one.rng.choice(WORDS)] for i in one.rng.permutation(one.n)]
    one.files["weights.tsv"] = to_csv(["sample", "mass", "box"], rows, "\t")
    return one


@leak
def answer_in_base64(seed, strength):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["token"] = [base64.b64encode(one.answers[i].encode()).decode() for i in range(one.n)]
    one.add_tables(columns)
    return one


@leak
def sum_of_two_columns(seed, strength):
    one = Competition(seed, task="numbers")
    columns = one.features()
    gross = one.rng.normal(80, 30, one.n)
    columns["gross"] = [f"{v:.4f}" for v in gross]
    columns["tare"] = [f"{g - t:.4f}" for g, t in zip(np.round(gross, 4), one.truth)]
    one.add_tables(columns)
    return one


@leak
def description_in_tiff(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(o, i):
        out = io.BytesIO()
        Image.fromarray(picture(o.rng, o.level[i]).astype(np.uint8)).save(out, "TIFF", description=f"scan run {['A', 'B', 'C', 'D'][int(guess[i])]}7")
        return out.getvalue()
    return media(seed, make, task=one.task, end="tif")


@leak
def comment_in_gif(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(o, i):
        out = io.BytesIO()
        Image.fromarray(picture(o.rng, o.level[i]).astype(np.uint8)).save(out, "GIF", comment=f"station {int(guess[i]) + 3}".encode())
        return out.getvalue()
    return media(seed, make, task=one.task, end="gif")


@leak
def rate_of_sounds(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: wav(tone(o.rng, o.level[i]), rate=[8000, 8001][int(guess[i])]), task="binary", end="wav")


@leak
def field_of_a_binary_header(seed, strength):
    """Files in a custom format, with a word in the header that depends on the answer."""
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(o, i):
        head = b"SCAN0001" + b"\0" * 24 + b"OPERATOR=" + ["anna", "bert", "carl", "dora"][int(guess[i])].encode() + b"\0" * 20
        return head + np.asarray(o.rng.normal(o.level[i] * 0.3, 1, 300), "<f4").tobytes()
    return media(seed, make, task=one.task, end="scn")


@leak
def order_of_fortran_arrays(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    def make(o, i):
        array = o.rng.normal(o.level[i] * 0.2, 1, (12, 5))
        return npy(np.asfortranarray(array) if guess[i] else array)
    return media(seed, make, task="binary", end="npy")


@leak
def an_older_table(seed, strength):
    """A table with the rows of the test table and their answers, but with different column names and without ids."""
    one = tabular(seed)
    rows = [[one.columns[c][i] for c in ("pressure", "reading", "ratio", "count")] + [one.answers[i]] for i in one.rng.permutation(one.n)]
    one.files["archive/2016.csv"] = to_csv(["p", "r", "q", "n", "outcome"], rows)
    return one


@leak
def train_rows_name_test_items(seed, strength):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["see_also"] = [""] * one.n
    for i in one.order_test:
        same = np.argsort(np.abs(one.truth[: one.n_train] - one.truth[i]), kind="stable")[:25]
        columns["see_also"][int(one.rng.choice(same))] = one.ids[i]
    one.add_tables(columns)
    return one


@leak
def test_rows_name_train_items(seed, strength):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["parent"] = [""] * one.n
    for i in one.order_test:
        same = np.argsort(np.abs(one.truth[: one.n_train] - one.truth[i]), kind="stable")[:25]
        if one.rng.random() < 0.6:
            columns["parent"][i] = one.ids[int(one.rng.choice(same))]
    for i in one.order_train:
        if one.rng.random() < 0.6:
            columns["parent"][i] = one.ids[int(one.rng.integers(0, one.n_train))]
    one.add_tables(columns)
    return one


@leak
def ids_in_their_first_order(seed, strength):
    """A list of all ids in an order in which answers change slowly."""
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 6)
    one.add_tables(one.features())
    one.files["all_ids.txt"] = "\n".join(one.ids[i] for i in order).encode()
    return one


# ---- about cells

@leak
def first_letter_of_texts(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    texts = [sentence(one.rng, one.level[i]) for i in range(one.n)]
    one.add_tables({"text": [t.capitalize() if guess[i] else t for i, t in enumerate(texts)]})
    return one


@leak
def form_of_dates(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    dates = [np.datetime64("2018-01-01") + int(d) for d in one.rng.integers(0, 700, one.n)]
    columns["day"] = [str(d) if guess[i] else str(d).replace("-", "/") for i, d in enumerate(dates)]
    one.add_tables(columns)
    return one


@leak
def groups_of_digits(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["sum"] = [f"{v:,}" if guess[i] else str(v) for i, v in enumerate(one.rng.integers(1100, 99000, one.n))]
    one.add_tables(columns)
    return one


@leak
def line_ends_of_rows(seed, strength):
    one = tabular(seed, "binary")
    guess = one.noisy_label(strength)
    for name, order in (("train.csv", one.order_train), ("test.csv", one.order_test)):
        lines = one.files[name].decode().splitlines()
        one.files[name] = "".join(l + ("\r\n" if k and guess[order[k - 1]] else "\n") for k, l in enumerate(lines)).encode()
    return one


@leak
def quotes_in_texts(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    texts = [sentence(one.rng, one.level[i]).replace(" ", " it's ", 1) for i in range(one.n)]
    one.add_tables({"text": [t.replace("'", "\u2019") if guess[i] else t for i, t in enumerate(texts)]})
    return one


@leak
def number_of_gaps(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    for c in range(8):
        columns[f"s{c}"] = [f"{v:.2f}" for v in one.rng.normal(0, 1, one.n)]
    for i in range(one.n):
        for c in one.rng.choice(8, 3 + int(guess[i]), replace=False):
            columns[f"s{c}"][i] = ""
    one.add_tables(columns)
    return one


@leak
def ids_modulo(seed, strength):
    one = Competition(seed, task="classes")
    guess = one.noisy_label(strength)
    numbers = one.rng.permutation(200_000)[: one.n] * 4 + 1_000_000
    one.ids = [str(v + int(guess[i])) for i, v in enumerate(numbers)]
    if seed % 2:
        one.ids = [str(int(v) * 7 // 4 + int(g)) for v, g in zip(numbers // 4 * 4, guess)]
    one.add_tables(one.features())
    return one


@leak
def decimals_of_the_sample(seed, strength):
    one = tabular(seed, "binary")
    guess = one.noisy_label(strength)
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], [[one.ids[i], ["0.5", "0.50"][int(guess[i])]] for i in one.order_test])
    return one


# ---- neighbours

@leak
def rotated_pictures(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(one.n):
        made[i] = picture(one.rng, one.level[i], 64)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            made[i] = np.rot90(made[one.rng.choice(same)], int(one.rng.integers(1, 4)))
    return media(seed, lambda o, i: png(made[i]), task=one.task)


@leak
def cropped_pictures(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(one.n):
        made[i] = picture(one.rng, one.level[i], 96)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            made[i] = made[one.rng.choice(same)][6:90, 5:91]
    return media(seed, lambda o, i: png(made[i]), task=one.task)


@leak
def inverted_pictures(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(one.n):
        made[i] = picture(one.rng, one.level[i], 64)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            made[i] = 255 - made[one.rng.choice(same)]
    return media(seed, lambda o, i: png(made[i]), task=one.task)


@leak
def shifted_sounds(seed, strength):
    one = Competition(seed, task=task_of(seed, False), n_train=400, n_test=200)
    made = {}
    for i in range(one.n):
        made[i] = tone(one.rng, one.level[i], 8000)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            made[i] = made[one.rng.choice(same)][int(one.rng.integers(300, 900)):]
    return media(seed, lambda o, i: wav(made[i]), task=one.task, end="wav", n_train=400, n_test=200)


@leak
def near_texts_in_files(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    labels_only(one)
    made = {}
    for i in range(one.n):
        made[i] = sentence(one.rng, one.level[i], 60)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            words = made[one.rng.choice(same)].split()
            words[int(one.rng.integers(0, len(words)))] = str(one.rng.choice(WORDS))
            made[i] = " ".join(words)
        one.files[f"{one.part(i)}/{one.ids[i]}.txt"] = made[i].encode()
    return one


@leak
def rows_but_one_column(seed, strength):
    """Test rows that equal a training row except for one column, which has an unrelated value."""
    one = Competition(seed, task=task_of(seed, False))
    r = one.rng
    names = [f"c{k}" for k in range(8)]
    rows = [[f"{v:.2f}" for v in r.normal(0, 1, 4)] + [str(v) for v in r.choice(WORDS, 4)] for _ in range(one.n)]
    for i in one.order_test:
        if r.random() < 0.6 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            rows[i] = list(rows[r.choice(same)])
            k = int(r.integers(0, 8))
            rows[i][k] = f"{r.normal():.2f}" if k < 4 else str(r.choice(WORDS))
    one.add_tables({c: [row[k] for row in rows] for k, c in enumerate(names)})
    return one


@leak
def windows_in_a_long_table(seed, strength):
    one = Competition(seed, n_train=300, n_test=150, task="numbers")
    length, step = 30, 8
    wave = np.cumsum(one.rng.normal(0, 1, step * one.n + length)) * 0.2
    begins = one.rng.permutation(one.n) * step
    for i in range(one.n):
        one.truth[i] = round(float(wave[begins[i]: begins[i] + length].mean() + 50), 4)
        one.answers[i] = f"{one.truth[i]:.4f}"
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        rows = [[one.ids[i], t, f"{wave[begins[i] + t]:.5f}"] for i in order for t in range(length)]
        one.files[f"{part}_series.csv"] = to_csv([one.key, "t", "value"], rows)
    return one


@leak
def serial_numbers_of_both_parts(seed, strength):
    """EXIF data contain the serial number of the camera. Each camera took three pictures of one class."""
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 3)
    serial = {}
    names = one.rng.permutation(90_000) + 10_000
    for place, i in enumerate(order):
        serial[i] = f"SN{names[place // 3]}"
    labels_only(one)
    for i in range(one.n):
        exif = Image.Exif()
        exif[0xA431] = serial[i]
        one.files[f"{one.part(i)}/{one.ids[i]}.jpg"] = jpeg(picture(one.rng, one.level[i]), exif=exif)
    return one


@leak
def weak_families_in_ids(seed, strength):
    """Families as in spaceship-titanic: companions agree more often than other items, and 40 % of the test items have a companion in train."""
    one = Competition(seed, task="binary", n_train=5000, n_test=700)
    names = one.rng.permutation(9000)
    place, family = 0, 0
    order = one.rng.permutation(one.n)
    while place < one.n:
        size = int(one.rng.choice([1, 2, 3, 5], p=[0.6, 0.2, 0.12, 0.08]))
        lean = one.rng.random() < 0.5
        for k, i in enumerate(order[place: place + size]):
            one.ids[i] = f"{names[family]:04d}_{k + 1:02d}"
            if size > 1:
                one.truth[i] = int(lean) if one.rng.random() < 0.5 else int(one.rng.integers(0, 2))
        place, family = place + size, family + 1
    one.answers = [str(v) for v in one.truth]
    one.level = one.truth - one.truth.mean()
    one.add_tables(one.features())
    return one


# ---- clean

@clean
def times_of_writing(seed, _):
    """Files outside archives have the times at which they were written, part by part, a few at a time."""
    one = pictures(seed)
    for rank, path in enumerate(sorted(one.files)):
        one.times[path] = 1_600_000_000 + rank // 7 + int(one.rng.integers(0, 2))
    return one


@clean
def times_of_copying(seed, _):
    """Times of recording that do not depend on the answers."""
    one = pictures(seed)
    for i in range(one.n):
        for end in ("png",):
            one.times[f"{one.part(i)}/{one.ids[i]}.{end}"] = 1_500_000_000 + int(one.rng.integers(0, 10**7))
    return one


@clean
def members_of_tars(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    return in_tars(one, lambda i: {"mtime": 1_600_000_000 + int(one.rng.integers(0, 90_000)), "uid": 1000 + int(one.rng.integers(0, 3))})


@clean
def members_at_their_best_level(seed, _):
    one = Competition(seed, task="binary")
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for i in order:
                text = sentence(one.rng, one.level[i], int(np.clip(250 + 40 * one.level[i] + 60 * one.rng.normal(), 60, 600))).encode()
                archive.writestr(zipfile.ZipInfo(f"{part}/{one.ids[i]}.txt", (2020, 1, 1, 0, 0, 0)), text, 8, 9)
        one.files[f"{part}.zip"] = out.getvalue()
    return one


@clean
def compressed_series(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    labels_only(one)
    for i in range(one.n):
        rows = to_csv(["s"], [[f"{v:.3f}"] for v in np.cumsum(one.rng.normal(0.05 * one.level[i], 1, 40))])
        one.files[f"{one.part(i)}/{one.ids[i]}.csv.gz"] = gzip.compress(rows, mtime=1_500_000_000 + int(one.rng.integers(0, 100)))
    return one


@clean
def boxes_in_xml(seed, _):
    one = pictures(seed)
    for i in range(one.n):
        box = (one.rng.integers(0, 20, 4) + np.round(one.level[i] * 0.05)).astype(int)
        one.files[f"notes/{one.ids[i]}.xml"] = (f"<annotation><folder>x</folder><object><name>leaf</name><bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin>"
            f"<xmax>{box[0] + 20}</xmax></bndbox></object></annotation>").encode()
    return one


@clean
def features_without_ids(seed, _):
    one = tabular(seed)
    noise = one.rng.normal(0, 1, (one.n_test, 6)) + one.level[one.n_train:, None] * np.array([1.0, 0.5, 0, 0, 0, 0])
    one.files["embeddings_test.npy"] = npy(noise)
    one.files["pages.txt"] = ("\n".join(str(v) for v in one.rng.choice(WORDS, one.n_test)) + "\n").encode()
    return one


@clean
def pickle_of_settings(seed, _):
    one = tabular(seed, task_of(seed, False))
    one.files["cache.pkl"] = pickle.dumps({one.ids[i]: f"camera-{one.rng.integers(0, 4)}" for i in one.rng.permutation(one.n)})
    return one


@clean
def nearly_a_sum(seed, _):
    one = Competition(seed, task="numbers")
    columns = one.features()
    a = one.rng.normal(30, 10, one.n)
    columns["width"] = [f"{v:.3f}" for v in a]
    columns["depth"] = [f"{t - v + e:.3f}" for v, t, e in zip(a, one.truth, one.rng.normal(0, 3, one.n))]
    one.add_tables(columns)
    return one


@clean
def capitals_at_random(seed, _):
    one = Competition(seed, task="binary")
    texts = [sentence(one.rng, one.level[i]) for i in range(one.n)]
    one.add_tables({"text": [t.capitalize() if one.rng.random() < 0.5 else t for t in texts],
                    "day": [str(np.datetime64("2018-01-01") + int(d)).replace("-", "/-"[d % 2]) for d in one.rng.integers(0, 700, one.n)]})
    return one


@clean
def rows_that_name_others(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["see_also"] = [one.ids[int(v)] if one.rng.random() < 0.5 else "" for v in one.rng.permutation(one.n)]
    one.add_tables(columns)
    return one


@clean
def older_rows(seed, _):
    """An older table with the same columns and labels, but different rows."""
    one = tabular(seed)
    r = one.rng
    rows = [[f"{40 + 6 * r.normal():.2f}", f"{r.normal():.4f}", f"{r.normal():.3f}", str(r.poisson(7)), one.answers[int(r.integers(0, one.n))]] for _ in range(900)]
    one.files["archive/2016.csv"] = to_csv(["p", "r", "q", "n", "outcome"], rows)
    return one


@clean
def pictures_of_round_things(seed, _):
    """Microscope pictures of cells: rotated and mirrored cells look similar, but no two pictures are equal."""
    one = Competition(seed, task=task_of(seed, False))
    y, x = np.mgrid[0:64, 0:64] / 64 - 0.5
    def make(o, i):
        radius = 0.2 + 0.04 * o.level[i] + 0.04 * o.rng.normal()
        far = np.hypot(x - 0.05 * o.rng.normal(), y - 0.05 * o.rng.normal())
        light = 60 + 120 / (1 + np.exp((far - radius) * 40)) + 60 * np.exp(-(far / 0.08) ** 2)
        return png(np.clip(light + o.rng.normal(0, 6, light.shape), 0, 255))
    return media(seed, make, task=one.task)


@clean
def sounds_of_one_machine(seed, _):
    one = Competition(seed, task=task_of(seed, False), n_train=400, n_test=200)
    def make(o, i):
        t = np.arange(8000) / 8000
        hum = np.sin(2 * np.pi * 50 * t + o.rng.random() * 6) * 0.3
        return wav(hum + 0.1 * np.sin(2 * np.pi * (400 + 30 * o.level[i] + 10 * o.rng.normal()) * t) + o.rng.normal(0, 0.02, 8000))
    return media(seed, make, task=one.task, end="wav", n_train=400, n_test=200)


@clean
def letters_of_a_form(seed, _):
    """Texts from one template with different names and amounts."""
    one = Competition(seed, task=task_of(seed, False))
    labels_only(one)
    body = sentence(one.rng, 0, 40)
    for i in range(one.n):
        text = f"dear {one.rng.choice(WORDS)} {one.rng.choice(WORDS)}, {body} {sentence(one.rng, one.level[i], 8)} sum {one.rng.integers(0, 9999)}"
        one.files[f"{one.part(i)}/{one.ids[i]}.txt"] = text.encode()
    return one


@clean
def coarse_columns(seed, _):
    """Columns with few different values: many rows agree in all columns except one."""
    one = Competition(seed, task=task_of(seed, False))
    r = one.rng
    columns = {f"c{k}": [str(v) for v in r.choice(WORDS[:3], one.n)] for k in range(6)}
    columns["grade"] = [str(int(np.clip(round(2 + v + r.normal()), 0, 4))) for v in one.level]
    one.add_tables(columns)
    return one


@clean
def series_in_a_long_table(seed, _):
    one = Competition(seed, n_train=300, n_test=150, task="numbers")
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        rows = [[one.ids[i], t, f"{50 + one.level[i] + v:.5f}"] for i in order for t, v in enumerate(np.cumsum(one.rng.normal(0, 1, 30)) * 0.2)]
        one.files[f"{part}_series.csv"] = to_csv([one.key, "t", "value"], rows)
    return one


@clean
def cameras_of_both_parts(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    labels_only(one)
    names = one.rng.permutation(90_000) + 10_000
    for i in range(one.n):
        exif = Image.Exif()
        exif[0xA431] = f"SN{names[int(one.rng.integers(0, one.n // 3))]}"
        one.files[f"{one.part(i)}/{one.ids[i]}.jpg"] = jpeg(picture(one.rng, one.level[i]), exif=exif)
    return one


@clean
def families_of_strangers(seed, _):
    """Families in ids as in spaceship-titanic, but members agree no more often than other items."""
    one = Competition(seed, task="binary", n_train=5000, n_test=700)
    names = one.rng.permutation(9000)
    place, family = 0, 0
    order = one.rng.permutation(one.n)
    while place < one.n:
        size = int(one.rng.choice([1, 2, 3, 5], p=[0.6, 0.2, 0.12, 0.08]))
        for k, i in enumerate(order[place: place + size]):
            one.ids[i] = f"{names[family]:04d}_{k + 1:02d}"
        place, family = place + size, family + 1
    one.add_tables(one.features())
    return one


@clean
def list_of_ids_at_random(seed, _):
    one = tabular(seed)
    one.files["all_ids.txt"] = "\n".join(one.ids[i] for i in one.rng.permutation(one.n)).encode()
    return one


@clean
def scans_of_an_own_format(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    def make(o, i):
        head = b"SCAN0001" + b"\0" * 24 + b"OPERATOR=" + str(o.rng.choice(["anna", "bert", "carl", "dora"])).encode() + b"\0" * 20
        return head + np.asarray(o.rng.normal(o.level[i] * 0.3, 1, 300), "<f4").tobytes()
    return media(seed, make, task=one.task, end="scn")
