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
    """Registers a function that makes a competition with a leak."""
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    """Registers a function that makes a competition without a leak."""
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def labels_only(comp):
    """Adds a training table that contains only ids and answers."""
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])


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


def in_tars(comp, properties):
    """Writes pictures in train.tar and test.tar. `properties` maps an item to attributes of its tar header."""
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        members = [(f"{part}/{comp.ids[i]}.png", png(picture(comp.rng, comp.level[i]))) for i in sorted(order, key=lambda i: comp.ids[i])]
        of = {f"{part}/{comp.ids[i]}.png": properties(i) for i in order}
        comp.files[f"{part}.tar"] = tarred(members, of)
    return comp


# ---- about files and members

@leak
def time_of_tar_members(seed, strength):
    """Modification times of tar members rise with the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = number_of(comp, comp.noisy_label(strength))
    return in_tars(comp, lambda i: {"mtime": 1_600_000_000 + int(3000 * guess[i] + 400 * comp.rng.normal())})


@leak
def owner_of_tar_members(seed, strength):
    """The owner of a tar member depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    return in_tars(comp, lambda i: {"uid": 1000 + int(guess[i]), "uname": f"user{int(guess[i])}"})


@leak
def time_in_inner_archive(seed, strength):
    """The month of a member of an inner archive depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        names = {i: f"{comp.ids[i]}.png" for i in order}
        times = {names[i]: (2020, 1 + int(guess[i]), 1 + int(comp.rng.integers(0, 27)), 0, 0, 0) for i in order}
        inner = zipped([(names[i], png(picture(comp.rng, comp.level[i]))) for i in order], times)
        comp.files["images.zip" if part == "test" else "train.zip"] = zipped([("readme.txt", b"x"), ("pictures.zip", inner)], methods={"pictures.zip": 8})
    return comp


@leak
def extra_fields_of_members(seed, strength):
    """Zip members have extra fields of equal length whose content depends on the answer."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for i in order:
                info = zipfile.ZipInfo(f"{part}/{comp.ids[i]}.png", (2020, 1, 1, 0, 0, 0))
                info.extra = b"\x75\x78\x04\x00" + bytes([1, 1, 100 + int(guess[i]), 0])
                archive.writestr(info, png(picture(comp.rng, comp.level[i])))
        comp.files[f"{part}.zip"] = out.getvalue()
    return comp


@leak
def compression_level_of_members(seed, strength):
    """The compression level of an archive member depends on the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for i in order:
                text = sentence(comp.rng, comp.level[i], int(comp.rng.integers(150, 400))).encode()
                info = zipfile.ZipInfo(f"{part}/{comp.ids[i]}.txt", (2020, 1, 1, 0, 0, 0))
                archive.writestr(info, text, 8, [1, 9][int(guess[i])])
        comp.files[f"{part}.zip"] = out.getvalue()
    return comp


@leak
def time_in_gzip_header(seed, strength):
    """The time in the header of a gzip file depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for i in range(comp.n):
        rows = to_csv(["s"], [[f"{v:.3f}"] for v in np.cumsum(comp.rng.normal(0.02 * comp.level[i], 1, 40))])
        time = 1_500_000_000 + 100_000 * int(guess[i]) + int(comp.rng.integers(0, 5000))
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv.gz"] = gzip.compress(rows, mtime=time)
    return comp


@leak
def ending_of_names(seed, strength):
    """The suffix is `jpg` for one class and `JPG` for the other."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.{['jpg', 'JPG'][int(guess[i])]}"] = jpeg(picture(comp.rng, comp.level[i]))
    return comp


@leak
def number_of_files_of_an_item(seed, strength):
    """The number of pictures of an item depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for i in range(comp.n):
        for k in range(2 + int(guess[i])):
            comp.files[f"{comp.part(i)}/{comp.ids[i]}/{k}.png"] = png(picture(comp.rng, comp.level[i], 24))
    return comp


@leak
def a_file_beside_some(seed, strength):
    """Only the items of one class have an additional file."""
    comp = pictures(seed, task="binary")
    guess = comp.noisy_label(strength)
    for i in range(comp.n):
        if guess[i]:
            comp.files[f"{comp.part(i)}/{comp.ids[i]}.json"] = dump({"checked": True, "by": int(comp.rng.integers(0, 9))})
    return comp


@leak
def times_of_neighbours(seed, strength):
    """Files outside archives: in both parts, answers change slowly with modification time."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 10)
    labels_only(comp)
    for place, i in enumerate(order):
        path = f"{comp.part(i)}/{comp.ids[i]}.png"
        comp.files[path] = png(picture(comp.rng, comp.level[i]))
        comp.times[path] = 1_600_000_000 + 30 * place
    return comp


# ---- inside files

@leak
def label_in_xml(seed, strength):
    """An XML file for each item contains the class."""
    comp = Competition(seed, task="classes")
    labels_only(comp)
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i]))
        box = comp.rng.integers(0, 20, 4)
        comp.files[f"notes/{comp.ids[i]}.xml"] = (f"<annotation><folder>x</folder><size><width>48</width><height>48</height></size>"
            f"<object><bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin></bndbox><name>{comp.answers[i]}</name></object></annotation>").encode()
    return comp


@leak
def one_xml_of_all(seed, strength):
    """One XML file contains the classes of all items."""
    comp = pictures(seed, task="classes")
    parts = [f'  <image id="{k}" name="{comp.part(i)}/{comp.ids[i]}.png">\n    <tag label="{comp.answers[i]}"/>\n  </image>\n' for k, i in enumerate(comp.rng.permutation(comp.n))]
    comp.files["annotations.xml"] = ("<annotations>\n" + "".join(parts) + "</annotations>\n").encode()
    return comp


@leak
def lines_without_ids(seed, strength):
    """A text file has one line per test row, in the order of the test rows. Each line contains the answer."""
    comp = tabular(seed)
    guess = comp.noisy_label(max(strength, 0.97))
    lines = [comp.answers[i] for i in comp.order_test] if comp.task == "numbers" else [f"c{int(guess[i])}" for i in comp.order_test]
    comp.files["extra/notes.txt"] = ("\n".join(lines) + "\n").encode()
    return comp


@leak
def array_without_ids(seed, strength):
    """An array has a row for each test row, in the same order. One of its columns is the answer."""
    comp = tabular(seed)
    noise = comp.rng.normal(0, 1, (comp.n_test, 3))
    noise[:, 1] = [comp.truth[i] for i in comp.order_test]
    comp.files["embeddings_test.npy"] = npy(noise)
    return comp


@leak
def pickle_of_answers(seed, strength):
    """A pickle maps ids to answers."""
    comp = tabular(seed, task_of(seed, False))
    comp.files["cache.pkl"] = pickle.dumps({comp.ids[i]: f"class-{comp.answers[i]}" for i in comp.rng.permutation(comp.n)})
    return comp


@leak
def database_of_answers(seed, strength):
    """An SQLite database contains ids and answers."""
    comp = tabular(seed, task_of(seed, False))
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        base = sqlite3.connect(file.name)
        base.execute("create table items (name text, grade text)")
        base.executemany("insert into items values (?, ?)", [(comp.ids[i], f"class-{comp.answers[i]}") for i in comp.rng.permutation(comp.n)])
        base.commit()
        base.close()
        comp.files["index.db"] = open(file.name, "rb").read()
    return comp


@leak
def number_with_unit(seed, strength):
    """A table contains the answers, with a unit after each number."""
    comp = tabular(seed, "numbers")
    rows = [[comp.ids[i], f"{comp.truth[i]:.4f} kg", comp.rng.choice(WORDS)] for i in comp.rng.permutation(comp.n)]
    comp.files["weights.csv"] = to_csv(["sample", "mass", "box"], rows)
    return comp


@leak
def number_with_comma(seed, strength):
    """A table contains the answers with decimal commas."""
    comp = tabular(seed, "numbers")
    rows = [[comp.ids[i], f"{comp.truth[i]:.4f}".replace(".", ","), comp.rng.choice(WORDS)] for i in comp.rng.permutation(comp.n)]
    comp.files["weights.tsv"] = to_csv(["sample", "mass", "box"], rows, "\t")
    return comp


@leak
def answer_in_base64(seed, strength):
    """A column contains the answers in base64."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["token"] = [base64.b64encode(comp.answers[i].encode()).decode() for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@leak
def sum_of_two_columns(seed, strength):
    """The difference of two columns is the answer."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    gross = comp.rng.normal(80, 30, comp.n)
    columns["gross"] = [f"{v:.4f}" for v in gross]
    columns["tare"] = [f"{g - t:.4f}" for g, t in zip(np.round(gross, 4), comp.truth)]
    comp.add_tables(columns)
    return comp


@leak
def description_in_tiff(seed, strength):
    """The description in a TIFF file depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(comp, i):
        out = io.BytesIO()
        Image.fromarray(picture(comp.rng, comp.level[i]).astype(np.uint8)).save(out, "TIFF", description=f"scan run {['A', 'B', 'C', 'D'][int(guess[i])]}7")
        return out.getvalue()
    return media(seed, make, task=comp.task, end="tif")


@leak
def comment_in_gif(seed, strength):
    """The comment in a GIF file depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(comp, i):
        out = io.BytesIO()
        Image.fromarray(picture(comp.rng, comp.level[i]).astype(np.uint8)).save(out, "GIF", comment=f"station {int(guess[i]) + 3}".encode())
        return out.getvalue()
    return media(seed, make, task=comp.task, end="gif")


@leak
def rate_of_sounds(seed, strength):
    """The sample rate of a sound file depends on the class: 8000 or 8001."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: wav(tone(comp.rng, comp.level[i]), rate=[8000, 8001][int(guess[i])]), task="binary", end="wav")


@leak
def field_of_a_binary_header(seed, strength):
    """Files have a custom format. A word in their header depends on the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(comp, i):
        head = b"SCAN0001" + b"\0" * 24 + b"OPERATOR=" + ["anna", "bert", "carl", "dora"][int(guess[i])].encode() + b"\0" * 20
        return head + np.asarray(comp.rng.normal(comp.level[i] * 0.3, 1, 300), "<f4").tobytes()
    return media(seed, make, task=comp.task, end="scn")


@leak
def order_of_fortran_arrays(seed, strength):
    """The storage order of an array depends on the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    def make(comp, i):
        array = comp.rng.normal(comp.level[i] * 0.2, 1, (12, 5))
        return npy(np.asfortranarray(array) if guess[i] else array)
    return media(seed, make, task="binary", end="npy")


@leak
def an_older_table(seed, strength):
    """An older table has the rows and answers of both parts, but with different column names and without ids."""
    comp = tabular(seed)
    rows = [[comp.columns[c][i] for c in ("pressure", "reading", "ratio", "count")] + [comp.answers[i]] for i in comp.rng.permutation(comp.n)]
    comp.files["archive/2016.csv"] = to_csv(["p", "r", "q", "n", "outcome"], rows)
    return comp


@leak
def train_rows_name_test_items(seed, strength):
    """A column of the training table contains the ids of test items with a similar answer."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["see_also"] = [""] * comp.n
    for i in comp.order_test:
        same = np.argsort(np.abs(comp.truth[: comp.n_train] - comp.truth[i]), kind="stable")[:25]
        columns["see_also"][int(comp.rng.choice(same))] = comp.ids[i]
    comp.add_tables(columns)
    return comp


@leak
def test_rows_name_train_items(seed, strength):
    """A column of the test table contains the ids of training items with a similar answer."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["parent"] = [""] * comp.n
    for i in comp.order_test:
        same = np.argsort(np.abs(comp.truth[: comp.n_train] - comp.truth[i]), kind="stable")[:25]
        if comp.rng.random() < 0.6:
            columns["parent"][i] = comp.ids[int(comp.rng.choice(same))]
    for i in comp.order_train:
        if comp.rng.random() < 0.6:
            columns["parent"][i] = comp.ids[int(comp.rng.integers(0, comp.n_train))]
    comp.add_tables(columns)
    return comp


@leak
def ids_in_original_order(seed, strength):
    """A text file lists all ids in their original order. In this order, answers change slowly."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 6)
    comp.add_tables(comp.features())
    comp.files["all_ids.txt"] = "\n".join(comp.ids[i] for i in order).encode()
    return comp


# ---- about cells

@leak
def first_letter_of_texts(seed, strength):
    """The texts of one class begin with a capital letter."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    texts = [sentence(comp.rng, comp.level[i]) for i in range(comp.n)]
    comp.add_tables({"text": [t.capitalize() if guess[i] else t for i, t in enumerate(texts)]})
    return comp


@leak
def form_of_dates(seed, strength):
    """The separator in dates depends on the class: `-` or `/`."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    dates = [np.datetime64("2018-01-01") + int(d) for d in comp.rng.integers(0, 700, comp.n)]
    columns["day"] = [str(d) if guess[i] else str(d).replace("-", "/") for i, d in enumerate(dates)]
    comp.add_tables(columns)
    return comp


@leak
def groups_of_digits(seed, strength):
    """The numbers of one class have commas between groups of digits."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["sum"] = [f"{v:,}" if guess[i] else str(v) for i, v in enumerate(comp.rng.integers(1100, 99000, comp.n))]
    comp.add_tables(columns)
    return comp


@leak
def line_ends_of_rows(seed, strength):
    """The rows of one class end with CR LF."""
    comp = tabular(seed, "binary")
    guess = comp.noisy_label(strength)
    for name, order in (("train.csv", comp.order_train), ("test.csv", comp.order_test)):
        lines = comp.files[name].decode().splitlines()
        comp.files[name] = "".join(l + ("\r\n" if k and guess[order[k - 1]] else "\n") for k, l in enumerate(lines)).encode()
    return comp


@leak
def quotes_in_texts(seed, strength):
    """The texts of one class have a typographic apostrophe."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    texts = [sentence(comp.rng, comp.level[i]).replace(" ", " it's ", 1) for i in range(comp.n)]
    comp.add_tables({"text": [t.replace("'", "\u2019") if guess[i] else t for i, t in enumerate(texts)]})
    return comp


@leak
def number_of_gaps(seed, strength):
    """The number of empty cells in a row depends on the class."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    for c in range(8):
        columns[f"s{c}"] = [f"{v:.2f}" for v in comp.rng.normal(0, 1, comp.n)]
    for i in range(comp.n):
        for c in comp.rng.choice(8, 3 + int(guess[i]), replace=False):
            columns[f"s{c}"][i] = ""
    comp.add_tables(columns)
    return comp


@leak
def ids_modulo(seed, strength):
    """The remainder of the id after division by 4 (for odd seeds, by 7) depends on the class."""
    comp = Competition(seed, task="classes")
    guess = comp.noisy_label(strength)
    numbers = comp.rng.permutation(200_000)[: comp.n] * 4 + 1_000_000
    comp.ids = [str(v + int(guess[i])) for i, v in enumerate(numbers)]
    if seed % 2:
        comp.ids = [str(int(v) * 7 // 4 + int(g)) for v, g in zip(numbers // 4 * 4, guess)]
    comp.add_tables(comp.features())
    return comp


@leak
def decimals_of_the_sample(seed, strength):
    """The sample submission contains `0.5` for one class and `0.50` for the other."""
    comp = tabular(seed, "binary")
    guess = comp.noisy_label(strength)
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], ["0.5", "0.50"][int(guess[i])]] for i in comp.order_test])
    return comp


# ---- neighbours

@leak
def rotated_pictures(seed, strength):
    """Half of the test pictures are rotated training pictures."""
    comp = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(comp.n):
        made[i] = picture(comp.rng, comp.level[i], 64)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            made[i] = np.rot90(made[comp.rng.choice(same)], int(comp.rng.integers(1, 4)))
    return media(seed, lambda comp, i: png(made[i]), task=comp.task)


@leak
def cropped_pictures(seed, strength):
    """Half of the test pictures are sections of training pictures."""
    comp = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(comp.n):
        made[i] = picture(comp.rng, comp.level[i], 96)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            made[i] = made[comp.rng.choice(same)][6:90, 5:91]
    return media(seed, lambda comp, i: png(made[i]), task=comp.task)


@leak
def inverted_pictures(seed, strength):
    """Half of the test pictures are inverted training pictures."""
    comp = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(comp.n):
        made[i] = picture(comp.rng, comp.level[i], 64)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            made[i] = 255 - made[comp.rng.choice(same)]
    return media(seed, lambda comp, i: png(made[i]), task=comp.task)


@leak
def shifted_sounds(seed, strength):
    """Half of the test sounds are training sounds without their beginning."""
    comp = Competition(seed, task=task_of(seed, False), n_train=400, n_test=200)
    made = {}
    for i in range(comp.n):
        made[i] = tone(comp.rng, comp.level[i], 8000)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            made[i] = made[comp.rng.choice(same)][int(comp.rng.integers(300, 900)):]
    return media(seed, lambda comp, i: wav(made[i]), task=comp.task, end="wav", n_train=400, n_test=200)


@leak
def near_texts_in_files(seed, strength):
    """Half of the test texts are training texts with one changed word. Each text is a file."""
    comp = Competition(seed, task=task_of(seed, False))
    labels_only(comp)
    made = {}
    for i in range(comp.n):
        made[i] = sentence(comp.rng, comp.level[i], 60)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            words = made[comp.rng.choice(same)].split()
            words[int(comp.rng.integers(0, len(words)))] = str(comp.rng.choice(WORDS))
            made[i] = " ".join(words)
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.txt"] = made[i].encode()
    return comp


@leak
def rows_but_one_column(seed, strength):
    """Some test rows equal a training row in all columns but one. That column has an unrelated value."""
    comp = Competition(seed, task=task_of(seed, False))
    rng = comp.rng
    names = [f"c{k}" for k in range(8)]
    rows = [[f"{v:.2f}" for v in rng.normal(0, 1, 4)] + [str(v) for v in rng.choice(WORDS, 4)] for _ in range(comp.n)]
    for i in comp.order_test:
        if rng.random() < 0.6 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            rows[i] = list(rows[rng.choice(same)])
            k = int(rng.integers(0, 8))
            rows[i][k] = f"{rng.normal():.2f}" if k < 4 else str(rng.choice(WORDS))
    comp.add_tables({c: [row[k] for row in rows] for k, c in enumerate(names)})
    return comp


@leak
def windows_in_a_long_table(seed, strength):
    """A table has many rows per item: overlapping windows of one series, whose mean is the answer."""
    comp = Competition(seed, n_train=300, n_test=150, task="numbers")
    length, step = 30, 8
    wave = np.cumsum(comp.rng.normal(0, 1, step * comp.n + length)) * 0.2
    begins = comp.rng.permutation(comp.n) * step
    for i in range(comp.n):
        comp.truth[i] = round(float(wave[begins[i]: begins[i] + length].mean() + 50), 4)
        comp.answers[i] = f"{comp.truth[i]:.4f}"
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        rows = [[comp.ids[i], t, f"{wave[begins[i] + t]:.5f}"] for i in order for t in range(length)]
        comp.files[f"{part}_series.csv"] = to_csv([comp.key, "t", "value"], rows)
    return comp


@leak
def serial_numbers_of_both_parts(seed, strength):
    """EXIF data contain the serial number of the camera. Each camera took three pictures of one class."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 3)
    serial = {}
    names = comp.rng.permutation(90_000) + 10_000
    for place, i in enumerate(order):
        serial[i] = f"SN{names[place // 3]}"
    labels_only(comp)
    for i in range(comp.n):
        exif = Image.Exif()
        exif[0xA431] = serial[i]  # BodySerialNumber
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.jpg"] = jpeg(picture(comp.rng, comp.level[i]), exif=exif)
    return comp


@leak
def weak_families_in_ids(seed, strength):
    """Families as in spaceship-titanic: companions have equal answers more often than other items.

    40 % of the test items have a companion in train.
    """
    comp = Competition(seed, task="binary", n_train=5000, n_test=700)
    names = comp.rng.permutation(9000)
    place, family = 0, 0
    order = comp.rng.permutation(comp.n)
    while place < comp.n:
        size = int(comp.rng.choice([1, 2, 3, 5], p=[0.6, 0.2, 0.12, 0.08]))
        lean = comp.rng.random() < 0.5
        for k, i in enumerate(order[place: place + size]):
            comp.ids[i] = f"{names[family]:04d}_{k + 1:02d}"
            if size > 1:
                comp.truth[i] = int(lean) if comp.rng.random() < 0.5 else int(comp.rng.integers(0, 2))
        place, family = place + size, family + 1
    comp.answers = [str(v) for v in comp.truth]
    comp.level = comp.truth - comp.truth.mean()
    comp.add_tables(comp.features())
    return comp


# ---- clean

@clean
def times_of_writing(seed, _):
    """Modification times are the times of writing: seven files per second, first those of one part, then the others."""
    comp = pictures(seed)
    for rank, path in enumerate(sorted(comp.files)):
        comp.times[path] = 1_600_000_000 + rank // 7 + int(comp.rng.integers(0, 2))
    return comp


@clean
def times_of_copying(seed, _):
    """Modification times are random, as if each file had kept the time of its recording."""
    comp = pictures(seed)
    for i in range(comp.n):
        for end in ("png",):
            comp.times[f"{comp.part(i)}/{comp.ids[i]}.{end}"] = 1_500_000_000 + int(comp.rng.integers(0, 10**7))
    return comp


@clean
def members_of_tars(seed, _):
    """Times and owners of tar members do not depend on the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    return in_tars(comp, lambda i: {"mtime": 1_600_000_000 + int(comp.rng.integers(0, 90_000)), "uid": 1000 + int(comp.rng.integers(0, 3))})


@clean
def members_at_their_best_level(seed, _):
    """All members have the best compression level. The length of a text is an intended feature."""
    comp = Competition(seed, task="binary")
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for i in order:
                text = sentence(comp.rng, comp.level[i], int(np.clip(250 + 40 * comp.level[i] + 60 * comp.rng.normal(), 60, 600))).encode()
                archive.writestr(zipfile.ZipInfo(f"{part}/{comp.ids[i]}.txt", (2020, 1, 1, 0, 0, 0)), text, 8, 9)
        comp.files[f"{part}.zip"] = out.getvalue()
    return comp


@clean
def compressed_series(seed, _):
    """The times in the headers of gzip files do not depend on the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    labels_only(comp)
    for i in range(comp.n):
        rows = to_csv(["s"], [[f"{v:.3f}"] for v in np.cumsum(comp.rng.normal(0.05 * comp.level[i], 1, 40))])
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv.gz"] = gzip.compress(rows, mtime=1_500_000_000 + int(comp.rng.integers(0, 100)))
    return comp


@clean
def boxes_in_xml(seed, _):
    """XML files contain boxes, which hardly depend on the answer."""
    comp = pictures(seed)
    for i in range(comp.n):
        box = (comp.rng.integers(0, 20, 4) + np.round(comp.level[i] * 0.05)).astype(int)
        comp.files[f"notes/{comp.ids[i]}.xml"] = (f"<annotation><folder>x</folder><object><name>leaf</name><bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin>"
            f"<xmax>{box[0] + 20}</xmax></bndbox></object></annotation>").encode()
    return comp


@clean
def features_without_ids(seed, _):
    """An array without ids has intended features, and a text file has random words."""
    comp = tabular(seed)
    noise = comp.rng.normal(0, 1, (comp.n_test, 6)) + comp.level[comp.n_train:, None] * np.array([1.0, 0.5, 0, 0, 0, 0])
    comp.files["embeddings_test.npy"] = npy(noise)
    comp.files["pages.txt"] = ("\n".join(str(v) for v in comp.rng.choice(WORDS, comp.n_test)) + "\n").encode()
    return comp


@clean
def pickle_of_settings(seed, _):
    """A pickle maps ids to random cameras."""
    comp = tabular(seed, task_of(seed, False))
    comp.files["cache.pkl"] = pickle.dumps({comp.ids[i]: f"camera-{comp.rng.integers(0, 4)}" for i in comp.rng.permutation(comp.n)})
    return comp


@clean
def nearly_a_sum(seed, _):
    """The answer is the sum of two columns and of noise."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    a = comp.rng.normal(30, 10, comp.n)
    columns["width"] = [f"{v:.3f}" for v in a]
    columns["depth"] = [f"{t - v + e:.3f}" for v, t, e in zip(a, comp.truth, comp.rng.normal(0, 3, comp.n))]
    comp.add_tables(columns)
    return comp


@clean
def capitals_at_random(seed, _):
    """Capital letters and the separators in dates do not depend on the answer."""
    comp = Competition(seed, task="binary")
    texts = [sentence(comp.rng, comp.level[i]) for i in range(comp.n)]
    comp.add_tables({"text": [t.capitalize() if comp.rng.random() < 0.5 else t for t in texts],
                    "day": [str(np.datetime64("2018-01-01") + int(d)).replace("-", "/-"[d % 2]) for d in comp.rng.integers(0, 700, comp.n)]})
    return comp


@clean
def rows_that_name_others(seed, _):
    """A column contains ids of random other rows."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["see_also"] = [comp.ids[int(v)] if comp.rng.random() < 0.5 else "" for v in comp.rng.permutation(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def older_rows(seed, _):
    """An older table with the same columns and labels, but different rows."""
    comp = tabular(seed)
    rng = comp.rng
    rows = [[f"{40 + 6 * rng.normal():.2f}", f"{rng.normal():.4f}", f"{rng.normal():.3f}", str(rng.poisson(7)), comp.answers[int(rng.integers(0, comp.n))]] for _ in range(900)]
    comp.files["archive/2016.csv"] = to_csv(["p", "r", "q", "n", "outcome"], rows)
    return comp


@clean
def pictures_of_round_things(seed, _):
    """Microscope pictures of cells: rotated and mirrored cells look similar, but no two pictures are equal."""
    comp = Competition(seed, task=task_of(seed, False))
    y, x = np.mgrid[0:64, 0:64] / 64 - 0.5
    def make(comp, i):
        radius = 0.2 + 0.04 * comp.level[i] + 0.04 * comp.rng.normal()
        far = np.hypot(x - 0.05 * comp.rng.normal(), y - 0.05 * comp.rng.normal())
        light = 60 + 120 / (1 + np.exp((far - radius) * 40)) + 60 * np.exp(-(far / 0.08) ** 2)
        return png(np.clip(light + comp.rng.normal(0, 6, light.shape), 0, 255))
    return media(seed, make, task=comp.task)


@clean
def sounds_of_one_machine(seed, _):
    """All sounds have the same hum. The frequency of a second tone is an intended feature."""
    comp = Competition(seed, task=task_of(seed, False), n_train=400, n_test=200)
    def make(comp, i):
        t = np.arange(8000) / 8000
        hum = np.sin(2 * np.pi * 50 * t + comp.rng.random() * 6) * 0.3
        return wav(hum + 0.1 * np.sin(2 * np.pi * (400 + 30 * comp.level[i] + 10 * comp.rng.normal()) * t) + comp.rng.normal(0, 0.02, 8000))
    return media(seed, make, task=comp.task, end="wav", n_train=400, n_test=200)


@clean
def letters_of_a_form(seed, _):
    """All texts follow one template, with different names and amounts."""
    comp = Competition(seed, task=task_of(seed, False))
    labels_only(comp)
    body = sentence(comp.rng, 0, 40)
    for i in range(comp.n):
        text = f"dear {comp.rng.choice(WORDS)} {comp.rng.choice(WORDS)}, {body} {sentence(comp.rng, comp.level[i], 8)} sum {comp.rng.integers(0, 9999)}"
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.txt"] = text.encode()
    return comp


@clean
def coarse_columns(seed, _):
    """Columns with few different values: many rows agree in all columns except one."""
    comp = Competition(seed, task=task_of(seed, False))
    rng = comp.rng
    columns = {f"c{k}": [str(v) for v in rng.choice(WORDS[:3], comp.n)] for k in range(6)}
    columns["grade"] = [str(int(np.clip(round(2 + v + rng.normal()), 0, 4))) for v in comp.level]
    comp.add_tables(columns)
    return comp


@clean
def series_in_a_long_table(seed, _):
    """A long table has a series of many rows per item. No series repeats or continues another one."""
    comp = Competition(seed, n_train=300, n_test=150, task="numbers")
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        rows = [[comp.ids[i], t, f"{50 + comp.level[i] + v:.5f}"] for i in order for t, v in enumerate(np.cumsum(comp.rng.normal(0, 1, 30)) * 0.2)]
        comp.files[f"{part}_series.csv"] = to_csv([comp.key, "t", "value"], rows)
    return comp


@clean
def cameras_of_both_parts(seed, _):
    """Cameras took pictures of both parts, independently of the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    labels_only(comp)
    names = comp.rng.permutation(90_000) + 10_000
    for i in range(comp.n):
        exif = Image.Exif()
        exif[0xA431] = f"SN{names[int(comp.rng.integers(0, comp.n // 3))]}"  # BodySerialNumber
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.jpg"] = jpeg(picture(comp.rng, comp.level[i]), exif=exif)
    return comp


@clean
def families_of_strangers(seed, _):
    """Families in ids as in spaceship-titanic, but members have equal answers no more often than other items."""
    comp = Competition(seed, task="binary", n_train=5000, n_test=700)
    names = comp.rng.permutation(9000)
    place, family = 0, 0
    order = comp.rng.permutation(comp.n)
    while place < comp.n:
        size = int(comp.rng.choice([1, 2, 3, 5], p=[0.6, 0.2, 0.12, 0.08]))
        for k, i in enumerate(order[place: place + size]):
            comp.ids[i] = f"{names[family]:04d}_{k + 1:02d}"
        place, family = place + size, family + 1
    comp.add_tables(comp.features())
    return comp


@clean
def list_of_ids_at_random(seed, _):
    """A text file lists all ids in random order."""
    comp = tabular(seed)
    comp.files["all_ids.txt"] = "\n".join(comp.ids[i] for i in comp.rng.permutation(comp.n)).encode()
    return comp


@clean
def scans_of_an_own_format(seed, _):
    """Files in a custom format, with a random word in the header."""
    comp = Competition(seed, task=task_of(seed, False))
    def make(comp, i):
        head = b"SCAN0001" + b"\0" * 24 + b"OPERATOR=" + str(comp.rng.choice(["anna", "bert", "carl", "dora"])).encode() + b"\0" * 20
        return head + np.asarray(comp.rng.normal(comp.level[i] * 0.3, 1, 300), "<f4").tobytes()
    return media(seed, make, task=comp.task, end="scn")
