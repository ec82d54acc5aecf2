"""A sixth set of leaks and clean twins, written before any detector was changed for these cases.

The cases are competitions with few items, files that programs of data scientists write, and leaks inside honest groups.
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
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def both(function):
    """Registers a leak and its clean twin, which has the same files, but with the answers of other items."""

    def shown(seed, strength, is_leak):
        return function(seed, strength, lambda one: one.answers if is_leak else [one.answers[i] for i in one.rng.permutation(one.n)])

    name = function.__name__.replace("_", "-")
    LEAKS[name] = lambda seed, strength: shown(seed, strength, True)
    CLEAN[f"{name}-of-others"] = lambda seed, strength: shown(seed, strength, False)
    return function


def small(seed, n_test, task):
    one = blank(seed, 30, n_test, task)
    with_tables(one)
    return one


# ---- few items

@both
def five_numbers_in_a_side_table(seed, strength, shown):
    one = small(seed, 5, "numbers")
    values = shown(one)
    one.files["stations.csv"] = to_csv([one.key, "site", "level"], [[one.ids[i], str(one.rng.integers(0, 9)), values[i]] for i in one.order_test])
    return one


@both
def twelve_classes_in_a_parquet(seed, strength, shown):
    import pyarrow
    import pyarrow.parquet
    one = small(seed, 12, "classes")
    values, order = shown(one), one.rng.permutation(one.order_test)
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"key": [one.ids[i] for i in order], "kind": [values[i] for i in order]}), out)
    one.files["cache.parquet"] = out.getvalue()
    return one


@both
def forty_classes_in_a_document(seed, strength, shown):
    one = small(seed, 40, "classes")
    values = shown(one)
    one.files["index.json"] = dump({"items": {one.ids[i]: {"w": int(one.rng.integers(9, 99)), "group": values[i]} for i in one.order_test}})
    return one


@both
def eight_numbers_in_a_wide_table(seed, strength, shown):
    """A table with one row and a column for each item."""
    one = small(seed, 8, "numbers")
    values = shown(one)
    order = one.rng.permutation(one.order_test)
    one.files["summary.csv"] = to_csv([one.ids[i] for i in order], [[values[i] for i in order]])
    return one


@both
def numbers_in_a_long_table(seed, strength, shown):
    """A table with a row for each item and quantity; one of the quantities is the answer."""
    one = small(seed, 9, "numbers")
    values = shown(one)
    rows = [row for i in one.rng.permutation(one.order_test) for row in ([one.ids[i], "weight", f"{one.rng.normal(5):.3f}"], [one.ids[i], "yield", values[i]])]
    one.files["measures.csv"] = to_csv([one.key, "quantity", "value"], rows)
    return one


@both
def sample_with_answers(seed, strength, shown):
    one = small(seed, 10, "numbers")
    values = shown(one)
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], [[one.ids[i], values[i]] for i in one.order_test])
    return one


@both
def difference_of_two_columns(seed, strength, shown):
    one = blank(seed, 40, 8, "numbers")
    values = shown(one)
    net = one.rng.normal(300, 50, one.n)
    return with_tables(one, net=lambda i: f"{net[i]:.4f}", gross=lambda i: f"{net[i] + float(values[i]):.4f}")


@both
def answers_of_two_columns(seed, strength, shown):
    """The answer is the concatenation of two columns."""
    one = blank(seed, 40, 12, "binary")
    one.answers = [f"{WORDS[a]}-{b}" for a, b in zip(one.rng.integers(0, len(WORDS), one.n), one.rng.integers(100, 999, one.n))]
    values = shown(one)
    return with_tables(one, left=lambda i: values[i].split("-")[0], right=lambda i: values[i].split("-")[1])


@both
def lines_of_a_log_with_few_items(seed, strength, shown):
    one = small(seed, 9, "numbers")
    values = shown(one)
    one.files["run.log"] = "".join(f"12:{k:02d} item {one.ids[i]} wrote {values[i]} in {one.rng.integers(1, 9)} ms\n" for k, i in enumerate(one.order_test)).encode()
    return one


# ---- files of programs

@both
def arrays_in_one_npz(seed, strength, shown):
    one = tabular(seed, task="classes")
    values, order = shown(one), one.rng.permutation(one.n)
    codes = {v: k for k, v in enumerate(sorted(set(values)))}
    out = io.BytesIO()
    np.savez(out, ids=np.array([one.ids[i] for i in order]), y=np.array([codes[values[i]] for i in order]))
    one.files["cache.npz"] = out.getvalue()
    return one


@both
def integers_in_sqlite(seed, strength, shown):
    one = tabular(seed, task="classes")
    values, order = shown(one), one.rng.permutation(one.n)
    codes = {v: 3 + k for k, v in enumerate(sorted(set(values)))}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "a.db"
        base = sqlite3.connect(place)
        base.execute("CREATE TABLE jobs (name TEXT, state INTEGER, tries INTEGER)")
        base.executemany("INSERT INTO jobs VALUES (?, ?, ?)", [(one.ids[i], codes[values[i]], int(one.rng.integers(0, 5))) for i in order])
        base.commit()
        base.close()
        one.files["jobs.sqlite"] = place.read_bytes()
    return one


@both
def dict_in_a_pickle(seed, strength, shown):
    one = tabular(seed, task="binary")
    values = shown(one)
    one.files["state.pkl"] = pickle.dumps({one.ids[i]: int(values[i]) for i in one.rng.permutation(one.n)})
    return one


@both
def frame_in_a_pickle(seed, strength, shown):
    """A dictionary of columns, as a data frame is often stored."""
    one = tabular(seed, task="numbers")
    values, order = shown(one), one.rng.permutation(one.n)
    one.files["frame.pickle"] = pickle.dumps({"name": [one.ids[i] for i in order], "size": [int(v) for v in one.rng.integers(0, 99, one.n)], "value": [float(values[i]) for i in order]}, protocol=4)
    return one


@both
def table_in_base64(seed, strength, shown):
    one = tabular(seed, task="numbers")
    values = shown(one)
    table = to_csv([one.key, "v"], [[one.ids[i], values[i]] for i in one.order_test])
    one.files["notebook.json"] = dump({"cells": [{"kind": "text", "source": "see below"}, {"kind": "data", "source": base64.b64encode(table).decode()}]})
    return one


@both
def hashed_classes(seed, strength, shown):
    one = tabular(seed, task="classes")
    values = shown(one)
    one.files["check.csv"] = to_csv([one.key, "digest"], [[one.ids[i], hashlib.sha1(values[i].encode()).hexdigest()] for i in one.rng.permutation(one.n)])
    return one


@both
def writer_after_the_samples(seed, strength, shown):
    """A tag after the data of a WAV file names the program."""
    one = blank(seed, 500, 250, "binary")
    values = shown(one)
    labels_only(one)
    for i in range(one.n):
        text = f"recorder {'AB'[int(values[i])]}\0".encode()
        info = b"INFOISFT" + struct.pack("<I", len(text)) + text + b"\0" * (len(text) % 2)
        content = wav(tone(one.rng, one.level[i], 900)) + b"LIST" + struct.pack("<I", len(info)) + info
        one.files[f"{one.part(i)}/{one.ids[i]}.wav"] = content[:4] + struct.pack("<I", len(content) - 8) + content[8:]
    return one


@both
def software_in_exif(seed, strength, shown):
    one = blank(seed, 500, 250, "binary")
    values = shown(one)
    labels_only(one)
    for i in range(one.n):
        exif = Image.Exif()
        exif[0x0131] = ["Lightroom 5", "GIMP 2.10"][int(values[i])]
        one.files[f"{one.part(i)}/{one.ids[i]}.jpg"] = jpeg(picture(one.rng, one.level[i], 48), exif=exif)
    return one


@both
def last_cell_of_series(seed, strength, shown):
    one = blank(seed, 400, 200, "numbers")
    values = shown(one)
    labels_only(one)
    for i in range(one.n):
        cells = [f"{v:.4f}" for v in np.cumsum(one.rng.normal(0.05 * one.level[i], 1, 60))] + [values[i]]
        one.files[f"{one.part(i)}/{one.ids[i]}.csv"] = to_csv(["t", "x"], [[str(k), c] for k, c in enumerate(cells)])
    return one


# ---- many items

@both
def most_answers_in_a_side_table(seed, strength, shown):
    """A table with the answers, of which two in a hundred were corrected later."""
    one = tabular(seed, task="classes")
    values = list(shown(one))
    for i in one.rng.choice(one.n, one.n // 50, replace=False):
        values[i] = str(one.rng.choice(["ash", "birch", "cedar", "elm"]))
    one.files["events.csv"] = to_csv(["ref", "day", "kind"], [[one.ids[i], str(one.rng.integers(1, 29)), values[i]] for i in one.rng.permutation(one.n)])
    return one


@both
def texts_with_two_other_words(seed, strength, shown):
    """One in four test texts is a training text in which two words were replaced."""
    one = blank(seed, 700, 300, "binary")
    texts = [sentence(one.rng, one.level[i], 28, signal=0.4) for i in range(one.n)]
    copied = one.rng.random(one.n) < 0.25
    is_leak = shown(one) is one.answers
    for i in one.order_test:
        if copied[i]:
            same = [k for k in one.order_train if one.answers[k] == one.answers[i] or not is_leak]
            words = texts[int(one.rng.choice(same))].split()
            for k in one.rng.choice(len(words), 2, replace=False):
                words[k] = str(one.rng.choice(WORDS))
            texts[i] = " ".join(words)
    return with_tables(one, text=lambda i: texts[i])


@both
def visits_of_patients_in_both_parts(seed, strength, shown):
    one = grouped(seed, 150, 0, "binary", size=(4, 8))
    n = one.n
    part = one.rng.random(n) < 0.35
    order = np.concatenate([np.flatnonzero(~part), np.flatnonzero(part)])
    one.n_train, one.n_test = int((~part).sum()), int(part.sum())
    one.group, truth = one.group[order], one.truth[order]
    set_answers(one, truth, "binary")
    one.order_train, one.order_test = list(range(one.n_train)), list(range(one.n_train, n))
    values = shown(one)
    if values is not one.answers:
        set_answers(one, [int(v) for v in values], "binary")
    one.ids = [f"pt{one.code[g]:04d}_{k:04d}" for k, g in enumerate(one.group)]
    return with_tables(one)


@both
def sorted_rows_of_patients(seed, strength, shown):
    """All rows of a patient are in one part, and the rows of both parts are sorted by class, then by a random number."""
    one = grouped(seed, 150, 80, "binary", size=(3, 6), mixed=0.5)
    values = shown(one)
    one.ids = [f"p{one.code[g]:03d}.{v[:4]}" for g, v in zip(one.group, one.ids)]
    for name in ("order_train", "order_test"):
        setattr(one, name, sorted(getattr(one, name), key=lambda i: (values[i], one.rng.random())))
    return with_tables(one)


@both
def sorted_names_of_files(seed, strength, shown):
    """Names of files count the items class after class, in both parts."""
    one = blank(seed, 500, 250, "binary")
    values = shown(one)
    for begin, end, name in ((0, 500, "a"), (500, 750, "b")):
        order = sorted(range(begin, end), key=lambda i: (values[i], one.rng.random()))
        for k, i in enumerate(order):
            one.ids[i] = f"{name}{7000 + k}"
    labels_only(one)
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}.png"] = png(picture(one.rng, one.level[i], 24))
    return one


@both
def sum_of_transactions(seed, strength, shown):
    """The amounts of each customer's transactions sum to the answer."""
    one = tabular(seed, task="numbers", n_test=250)
    values, rows = shown(one), []
    for i in range(one.n):
        total, parts = round(float(values[i]) * 10_000), int(one.rng.integers(2, 5))
        cuts = sorted(int(v) for v in one.rng.integers(0, max(total, 1), parts - 1))
        for a, b in zip([0, *cuts], [*cuts, total]):
            rows.append([one.ids[i], str(one.rng.integers(1, 29)), f"{(b - a) / 10_000:.4f}"])
    one.files["transactions.csv"] = to_csv([one.key, "day", "amount"], [rows[k] for k in one.rng.permutation(len(rows))])
    return one


@both
def mean_of_the_target(seed, strength, shown):
    """A column with the mean answer of the item's postcode, over all items of both parts."""
    one = blank(seed, 900, 400, "numbers")
    values = np.array([float(v) for v in shown(one)])
    code = one.rng.integers(0, 450, one.n)
    sums = np.bincount(code, values, 450) / np.maximum(np.bincount(code, minlength=450), 1)
    return with_tables(one, postcode=lambda i: f"{10000 + 7 * code[i]}", mean=lambda i: f"{sums[code[i]]:.5f}")


@leak
def class_in_directories_of_thumbnails(seed, strength):
    one = pictures(seed, task="classes")
    for i in range(one.n):
        one.files[f"thumbs/{one.answers[i]}/{one.ids[i]}.png"] = png(picture(one.rng, 0, 8))
    return one


@leak
def trips_with_their_answers(seed, strength):
    """All rows of a trip are in one part, and the lines of a log contain the answers."""
    one = with_tables(grouped(seed, 60, 25, name=trip, noise=3))
    one.files["track.nmea"] = "".join(f"$GPX,{one.ids[i]},{one.rng.integers(1, 9)},{one.answers[i]}\n" for i in range(one.n)).encode()
    return one


@leak
def unit_of_numbers_in_trips(seed, strength):
    one = grouped(seed, 60, 30, name=trip, noise=12)
    return with_tables(one, speed=lambda i: f"{2.5 * one.truth[i] - 11:.4f}" if one.rng.random() < 0.4 else f"{one.rng.normal(110, 30):.4f}")
