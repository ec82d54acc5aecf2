"""A sixth set of leaks and clean twins, written before any detector was changed for these cases.

The cases are competitions with few items, files that data scientists' programs write, and leaks of groups of items.
"""

import base64
import hashlib
import io
import pickle
import sqlite3
import struct
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from competition import Competition, WORDS, dump, jpeg, picture, png, sentence, to_csv, tone, wav, zipped
from further import labels_only
from honest import blank, grouped, set_answers, trip, with_tables
from planted import media, pictures, tabular

LEAKS, CLEAN = {}, {}


def leak(function):
    """Registers a function that makes a competition with a leak."""
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    """Registers a function that makes a competition without a leak."""
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def both(function):
    """Registers a leak and its clean twin, which has the same files, but with the answers of other items.

    The third argument of `function` maps the competition to the answers that the files must show.
    """

    def shown(seed, strength, is_leak):
        return function(seed, strength, lambda comp: comp.answers if is_leak else [comp.answers[i] for i in comp.rng.permutation(comp.n)])

    name = function.__name__.replace("_", "-")
    LEAKS[name] = lambda seed, strength: shown(seed, strength, True)
    CLEAN[f"{name}-of-others"] = lambda seed, strength: shown(seed, strength, False)
    return function


def small(seed, n_test, task):
    """Returns a competition with 30 training items and a few test items."""
    comp = blank(seed, 30, n_test, task)
    with_tables(comp)
    return comp


# ---- few items

@both
def five_numbers_in_a_side_table(seed, strength, shown):
    """Another table contains the answers of five test items."""
    comp = small(seed, 5, "numbers")
    values = shown(comp)
    comp.files["stations.csv"] = to_csv([comp.key, "site", "level"], [[comp.ids[i], str(comp.rng.integers(0, 9)), values[i]] for i in comp.order_test])
    return comp


@both
def twelve_classes_in_a_parquet(seed, strength, shown):
    """A Parquet file contains the answers of twelve test items."""
    import pyarrow
    import pyarrow.parquet
    comp = small(seed, 12, "classes")
    values, order = shown(comp), comp.rng.permutation(comp.order_test)
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"key": [comp.ids[i] for i in order], "kind": [values[i] for i in order]}), out)
    comp.files["cache.parquet"] = out.getvalue()
    return comp


@both
def forty_classes_in_a_document(seed, strength, shown):
    """A JSON document contains the answers of forty test items."""
    comp = small(seed, 40, "classes")
    values = shown(comp)
    comp.files["index.json"] = dump({"items": {comp.ids[i]: {"w": int(comp.rng.integers(9, 99)), "group": values[i]} for i in comp.order_test}})
    return comp


@both
def eight_numbers_in_a_wide_table(seed, strength, shown):
    """A table has one row, with a column for each test item. The cells are the answers."""
    comp = small(seed, 8, "numbers")
    values = shown(comp)
    order = comp.rng.permutation(comp.order_test)
    comp.files["summary.csv"] = to_csv([comp.ids[i] for i in order], [[values[i] for i in order]])
    return comp


@both
def numbers_in_a_long_table(seed, strength, shown):
    """A table has a row for each test item and quantity. One of the quantities is the answer."""
    comp = small(seed, 9, "numbers")
    values = shown(comp)
    rows = [row for i in comp.rng.permutation(comp.order_test) for row in ([comp.ids[i], "weight", f"{comp.rng.normal(5):.3f}"], [comp.ids[i], "yield", values[i]])]
    comp.files["measures.csv"] = to_csv([comp.key, "quantity", "value"], rows)
    return comp


@both
def sample_with_answers(seed, strength, shown):
    """The sample submission contains the answers."""
    comp = small(seed, 10, "numbers")
    values = shown(comp)
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], values[i]] for i in comp.order_test])
    return comp


@both
def difference_of_two_columns(seed, strength, shown):
    """The answer is the difference of two columns."""
    comp = blank(seed, 40, 8, "numbers")
    values = shown(comp)
    net = comp.rng.normal(300, 50, comp.n)
    return with_tables(comp, net=lambda i: f"{net[i]:.4f}", gross=lambda i: f"{net[i] + float(values[i]):.4f}")


@both
def answers_of_two_columns(seed, strength, shown):
    """The answer is the concatenation of two columns."""
    comp = blank(seed, 40, 12, "binary")
    comp.answers = [f"{WORDS[a]}-{b}" for a, b in zip(comp.rng.integers(0, len(WORDS), comp.n), comp.rng.integers(100, 999, comp.n))]
    values = shown(comp)
    return with_tables(comp, left=lambda i: values[i].split("-")[0], right=lambda i: values[i].split("-")[1])


@both
def lines_of_a_log_with_few_items(seed, strength, shown):
    """Each line of a log contains an item and its answer."""
    comp = small(seed, 9, "numbers")
    values = shown(comp)
    comp.files["run.log"] = "".join(f"12:{k:02d} item {comp.ids[i]} wrote {values[i]} in {comp.rng.integers(1, 9)} ms\n" for k, i in enumerate(comp.order_test)).encode()
    return comp


# ---- binary files that programs write: npz, SQLite and others

@both
def arrays_in_one_npz(seed, strength, shown):
    """An `.npz` file has an array of ids and an array of classes."""
    comp = tabular(seed, task="classes")
    values, order = shown(comp), comp.rng.permutation(comp.n)
    codes = {v: k for k, v in enumerate(sorted(set(values)))}
    out = io.BytesIO()
    np.savez(out, ids=np.array([comp.ids[i] for i in order]), y=np.array([codes[values[i]] for i in order]))
    comp.files["cache.npz"] = out.getvalue()
    return comp


@both
def integers_in_sqlite(seed, strength, shown):
    """An SQLite database contains ids, and integers that stand for the classes."""
    comp = tabular(seed, task="classes")
    values, order = shown(comp), comp.rng.permutation(comp.n)
    codes = {v: 3 + k for k, v in enumerate(sorted(set(values)))}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "a.db"
        base = sqlite3.connect(place)
        base.execute("CREATE TABLE jobs (name TEXT, state INTEGER, tries INTEGER)")
        base.executemany("INSERT INTO jobs VALUES (?, ?, ?)", [(comp.ids[i], codes[values[i]], int(comp.rng.integers(0, 5))) for i in order])
        base.commit()
        base.close()
        comp.files["jobs.sqlite"] = place.read_bytes()
    return comp


@both
def dict_in_a_pickle(seed, strength, shown):
    """A pickle maps ids to answers."""
    comp = tabular(seed, task="binary")
    values = shown(comp)
    comp.files["state.pkl"] = pickle.dumps({comp.ids[i]: int(values[i]) for i in comp.rng.permutation(comp.n)})
    return comp


@both
def frame_in_a_pickle(seed, strength, shown):
    """A pickle contains a dictionary of columns, as a data frame is often stored. One column has the answers."""
    comp = tabular(seed, task="numbers")
    values, order = shown(comp), comp.rng.permutation(comp.n)
    comp.files["frame.pickle"] = pickle.dumps({"name": [comp.ids[i] for i in order], "size": [int(v) for v in comp.rng.integers(0, 99, comp.n)], "value": [float(values[i]) for i in order]}, protocol=4)
    return comp


@both
def table_in_base64(seed, strength, shown):
    """A JSON document contains a table of answers in base64."""
    comp = tabular(seed, task="numbers")
    values = shown(comp)
    table = to_csv([comp.key, "v"], [[comp.ids[i], values[i]] for i in comp.order_test])
    comp.files["notebook.json"] = dump({"cells": [{"kind": "text", "source": "see below"}, {"kind": "data", "source": base64.b64encode(table).decode()}]})
    return comp


@both
def hashed_classes(seed, strength, shown):
    """A table contains the SHA-1 of each answer."""
    comp = tabular(seed, task="classes")
    values = shown(comp)
    comp.files["check.csv"] = to_csv([comp.key, "digest"], [[comp.ids[i], hashlib.sha1(values[i].encode()).hexdigest()] for i in comp.rng.permutation(comp.n)])
    return comp


@both
def writer_after_the_samples(seed, strength, shown):
    """A tag after the data of a WAV file names the recording program. The program depends on the class."""
    comp = blank(seed, 500, 250, "binary")
    values = shown(comp)
    labels_only(comp)
    for i in range(comp.n):
        text = f"recorder {'AB'[int(values[i])]}\0".encode()
        info = b"INFOISFT" + struct.pack("<I", len(text)) + text + b"\0" * (len(text) % 2)
        content = wav(tone(comp.rng, comp.level[i], 900)) + b"LIST" + struct.pack("<I", len(info)) + info
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.wav"] = content[:4] + struct.pack("<I", len(content) - 8) + content[8:]
    return comp


@both
def software_in_exif(seed, strength, shown):
    """The EXIF tag `Software` of each picture depends on the class."""
    comp = blank(seed, 500, 250, "binary")
    values = shown(comp)
    labels_only(comp)
    for i in range(comp.n):
        exif = Image.Exif()
        exif[0x0131] = ["Lightroom 5", "GIMP 2.10"][int(values[i])]  # Software
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.jpg"] = jpeg(picture(comp.rng, comp.level[i], 48), exif=exif)
    return comp


@both
def last_cell_of_series(seed, strength, shown):
    """The last value in the table of an item is the answer."""
    comp = blank(seed, 400, 200, "numbers")
    values = shown(comp)
    labels_only(comp)
    for i in range(comp.n):
        cells = [f"{v:.4f}" for v in np.cumsum(comp.rng.normal(0.05 * comp.level[i], 1, 60))] + [values[i]]
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv"] = to_csv(["t", "x"], [[str(k), c] for k, c in enumerate(cells)])
    return comp


# ---- many items

@both
def most_answers_in_a_side_table(seed, strength, shown):
    """A table contains the answers. One in fifty answers was replaced by a random class."""
    comp = tabular(seed, task="classes")
    values = list(shown(comp))
    for i in comp.rng.choice(comp.n, comp.n // 50, replace=False):
        values[i] = str(comp.rng.choice(["ash", "birch", "cedar", "elm"]))
    comp.files["events.csv"] = to_csv(["ref", "day", "kind"], [[comp.ids[i], str(comp.rng.integers(1, 29)), values[i]] for i in comp.rng.permutation(comp.n)])
    return comp


@both
def texts_with_two_other_words(seed, strength, shown):
    """One in four test texts is a training text in which two words were replaced."""
    comp = blank(seed, 700, 300, "binary")
    texts = [sentence(comp.rng, comp.level[i], 28, signal=0.4) for i in range(comp.n)]
    copied = comp.rng.random(comp.n) < 0.25
    is_leak = shown(comp) is comp.answers
    for i in comp.order_test:
        if copied[i]:
            same = [k for k in comp.order_train if comp.answers[k] == comp.answers[i] or not is_leak]
            words = texts[int(comp.rng.choice(same))].split()
            for k in comp.rng.choice(len(words), 2, replace=False):
                words[k] = str(comp.rng.choice(WORDS))
            texts[i] = " ".join(words)
    return with_tables(comp, text=lambda i: texts[i])


@both
def visits_of_patients_in_both_parts(seed, strength, shown):
    """Ids contain the patient. Patients are in both parts, and their visits have similar answers."""
    comp = grouped(seed, 150, 0, "binary", size=(4, 8))
    n = comp.n
    part = comp.rng.random(n) < 0.35
    order = np.concatenate([np.flatnonzero(~part), np.flatnonzero(part)])
    comp.n_train, comp.n_test = int((~part).sum()), int(part.sum())
    comp.group, truth = comp.group[order], comp.truth[order]
    set_answers(comp, truth, "binary")
    comp.order_train, comp.order_test = list(range(comp.n_train)), list(range(comp.n_train, n))
    values = shown(comp)
    if values is not comp.answers:
        set_answers(comp, [int(v) for v in values], "binary")
    comp.ids = [f"pt{comp.code[g]:04d}_{k:04d}" for k, g in enumerate(comp.group)]
    return with_tables(comp)


@both
def sorted_rows_of_patients(seed, strength, shown):
    """All rows of a patient are in one part, and the rows of both parts are sorted by class, then by a random number."""
    comp = grouped(seed, 150, 80, "binary", size=(3, 6), mixed=0.5)
    values = shown(comp)
    comp.ids = [f"p{comp.code[g]:03d}.{v[:4]}" for g, v in zip(comp.group, comp.ids)]
    for name in ("order_train", "order_test"):
        setattr(comp, name, sorted(getattr(comp, name), key=lambda i: (values[i], comp.rng.random())))
    return with_tables(comp)


@both
def sorted_names_of_files(seed, strength, shown):
    """In each part, items are numbered class after class. File names contain these numbers."""
    comp = blank(seed, 500, 250, "binary")
    values = shown(comp)
    for begin, end, name in ((0, 500, "a"), (500, 750, "b")):
        order = sorted(range(begin, end), key=lambda i: (values[i], comp.rng.random()))
        for k, i in enumerate(order):
            comp.ids[i] = f"{name}{7000 + k}"
    labels_only(comp)
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i], 24))
    return comp


@both
def sum_of_transactions(seed, strength, shown):
    """The amounts of each customer's transactions sum to the answer."""
    comp = tabular(seed, task="numbers", n_test=250)
    values, rows = shown(comp), []
    for i in range(comp.n):
        total, parts = round(float(values[i]) * 10_000), int(comp.rng.integers(2, 5))
        cuts = sorted(int(v) for v in comp.rng.integers(0, max(total, 1), parts - 1))
        for a, b in zip([0, *cuts], [*cuts, total]):
            rows.append([comp.ids[i], str(comp.rng.integers(1, 29)), f"{(b - a) / 10_000:.4f}"])
    comp.files["transactions.csv"] = to_csv([comp.key, "day", "amount"], [rows[k] for k in comp.rng.permutation(len(rows))])
    return comp


@both
def mean_of_the_target(seed, strength, shown):
    """A column contains the mean answer of all items of both parts that have the same postcode."""
    comp = blank(seed, 900, 400, "numbers")
    values = np.array([float(v) for v in shown(comp)])
    code = comp.rng.integers(0, 450, comp.n)
    sums = np.bincount(code, values, 450) / np.maximum(np.bincount(code, minlength=450), 1)
    return with_tables(comp, postcode=lambda i: f"{10000 + 7 * code[i]}", mean=lambda i: f"{sums[code[i]]:.5f}")


@leak
def class_in_directories_of_thumbnails(seed, strength):
    """Thumbnails are in one directory per class."""
    comp = pictures(seed, task="classes")
    for i in range(comp.n):
        comp.files[f"thumbs/{comp.answers[i]}/{comp.ids[i]}.png"] = png(picture(comp.rng, 0, 8))
    return comp


@leak
def trips_with_their_answers(seed, strength):
    """All rows of a trip are in one part, and the lines of a log contain the answers."""
    comp = with_tables(grouped(seed, 60, 25, name=trip, noise=3))
    comp.files["track.nmea"] = "".join(f"$GPX,{comp.ids[i]},{comp.rng.integers(1, 9)},{comp.answers[i]}\n" for i in range(comp.n)).encode()
    return comp


@leak
def unit_of_numbers_in_trips(seed, strength):
    """For 40 % of the items, a column is a linear function of the answer."""
    comp = grouped(seed, 60, 30, name=trip, noise=12)
    return with_tables(comp, speed=lambda i: f"{2.5 * comp.truth[i] - 11:.4f}" if comp.rng.random() < 0.4 else f"{comp.rng.normal(110, 30):.4f}")
