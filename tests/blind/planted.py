"""Planted leaks, and clean competitions that look suspicious. The detectors are tuned on this set.

Each kind is a function that returns a competition. Its arguments are a seed and a strength, the fraction of items whose
answers the leak reveals.
"""

import io
import zlib

import numpy as np
from PIL import Image, PngImagePlugin

from competition import (
    Competition, WORDS, dump, jpeg, mat, npy, picture, png, sentence, tfrecord, to_csv, tone, wav, zipped,
)

LEAKS, CLEAN = {}, {}


def leak(function):
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def task_of(seed, numbers=True):
    return ["binary", "classes", "numbers"][seed % (3 if numbers else 2)]


def tabular(seed, task=None, **sizes):
    one = Competition(seed, task=task or task_of(seed), **sizes)
    one.add_tables(one.features())
    return one


def media(seed, make, task=None, end="png", **sizes):
    """Writes files of items in train/ and test/, and the training labels."""
    one = Competition(seed, task=task or task_of(seed, numbers=False), **sizes)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for item in range(one.n):
        one.files[f"{one.part(item)}/{one.ids[item]}.{end}"] = make(one, item)
    return one


def pictures(seed, make=None, **options):
    return media(seed, make or (lambda one, i: png(picture(one.rng, one.level[i]))), **options)


def number_of(one, guess):
    """Returns a number that rises with the answer, and its standard deviation."""
    return (guess - np.mean(guess)) / (np.std(guess) or 1)


# ---- inside files

@leak
def record_feature(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(max(strength, 0.995))
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        for shard in range(4):
            rows = [{"image_name": one.ids[i].encode(), "image": bytes(one.rng.integers(0, 256, 64, dtype=np.uint8)),
                     "width": 8, "grade": int(guess[i])} for i in order[shard::4]]
            one.files[f"tfrecords/{part}{shard:02d}-{len(rows)}.tfrec"] = tfrecord(rows)
    return one


@leak
def member_of_inner_archive(seed, strength):
    one = tabular(seed)
    rows = [[one.ids[i], one.answers[i]] for i in one.rng.permutation(one.n)]
    inner = zipped([("notes/readme.txt", b"backup"), ("notes/old.csv", to_csv(["name", "v"], rows))])
    one.files["extras.zip"] = zipped([("a.txt", b"x"), ("backup.zip", inner)])
    return one


@leak
def json_key(seed, strength):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    def record(i, labels):
        value = {one.key: one.ids[i], **{c: float(v) if c != "colour" else v for c, v in ((c, columns[c][i]) for c in columns)},
                 "meta": {"source": {"grade": one.answers[i]}, "lang": "en"}}
        return {**value, one.label: one.answers[i]} if labels else value
    one.files["train.json"] = dump([record(i, True) for i in one.order_train])
    one.files["test.json"] = dump([record(i, False) for i in one.order_test])
    return one


@leak
def matlab_variable(seed, strength):
    def make(one, i):
        return mat({"signal": one.rng.normal(one.level[i] * 0.2, 1, 40), "rate": [[100.0]], "cls": [[float(one.truth[i])]]})
    return media(seed, make, end="mat")


@leak
def text_beside_the_file(seed, strength):
    one = pictures(seed, task="classes")
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}.txt"] = f"camera=K{i % 3}\nexposure=1/60\nspecies={one.answers[i]}\n".encode()
    return one


@leak
def table_joined_by_another_key(seed, strength):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    plots = one.rng.permutation(np.arange(10_000, 10_000 + one.n))
    columns["plot"] = [f"P{v}" for v in plots]
    one.add_tables(columns)
    rows = sorted([f"P{plots[i]}", f"{one.rng.normal():.3f}", one.answers[i]] for i in range(one.n))
    one.files["plots.csv"] = to_csv(["plot_no", "elevation", "survey"], rows)
    return one


@leak
def exif_tag(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(one, i):
        exif = Image.Exif()
        exif[271] = "Maker"
        exif[305] = f"Editor {3 + guess[i]}.1"
        exif[306] = f"2019:0{1 + i % 9}:11 10:{i % 60:02d}:00"
        p = picture(one.rng, one.level[i])
        return jpeg(np.stack([p, p, p], -1), exif=exif)
    made = media(seed, make, task=one.task, end="jpg")
    return made


@leak
def png_text(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(_, i):
        info = PngImagePlugin.PngInfo()
        info.add_text("Software", "tool")
        info.add_text("Comment", f"batch {'abcd'[guess[i]]}{one.rng.integers(100, 999)}")
        return png(picture(one.rng, one.level[i]), info)
    return media(seed, make, task=one.task)


@leak
def tail_of_file(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: wav(tone(o.rng, o.level[i], 3000 + int(o.rng.integers(0, 999))), tail=b"LIST\x04\0\0\0abcd" * int(guess[i])),
                 task="binary", end="wav")


@leak
def log_that_names_items(seed, strength):
    one = pictures(seed, task=task_of(seed, False))
    lines = []
    for i in one.rng.permutation(one.n):
        lines.append(f"2020-01-0{1 + i % 9} INFO stored {one.part(i)}/{one.ids[i]}.png queue={one.answers[i]} took {one.rng.integers(9, 99)}ms")
    one.files["upload.log"] = "\n".join(lines).encode()
    return one


@leak
def list_of_some_items(seed, strength):
    one = tabular(seed, "binary")
    chosen = [i for i in range(one.n) if one.truth[i] == 1 and one.rng.random() < strength]
    one.files["reviewed.txt"] = "\n".join(sorted(one.ids[i] for i in chosen)).encode()
    return one


# ---- about files

@leak
def file_name(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}_s{guess[i] * 3 + one.rng.integers(0, 3)}.png"] = png(picture(one.rng, one.level[i]))
    return one


@leak
def directory_name(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for i in range(one.n):
        one.files[f"{one.part(i)}/{['k1', 'm7', 'p3', 'x9'][guess[i]]}/{one.ids[i]}.png"] = png(picture(one.rng, one.level[i]))
    return one


@leak
def file_size(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: bytes(o.rng.integers(0, 256, 900 + 40 * int(guess[i]) + int(o.rng.integers(0, 30)), dtype=np.uint8)),
                 task=one.task, end="bin")


@leak
def picture_size(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: png(picture(o.rng, o.level[i], side=48 + int(guess[i]))), task=one.task)


@leak
def file_time(seed, strength):
    one = pictures(seed)
    guess = one.noisy_label(strength)
    for i in range(one.n):
        one.times[f"{one.part(i)}/{one.ids[i]}.png"] = 1_600_000_000 + 3600 * int(guess[i]) + int(one.rng.integers(0, 3000))
    return one


@leak
def order_in_archive(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        order = sorted(order, key=lambda i: (guess[i], one.ids[i]))
        one.files[f"{part}.zip"] = zipped([(f"{part}/{one.ids[i]}.png", png(picture(one.rng, one.level[i]))) for i in order])
    return one


@leak
def time_in_archive(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        names = {i: f"{part}/{one.ids[i]}.png" for i in order}
        times = {names[i]: (2020, 1, 1 + int(guess[i]), int(one.rng.integers(0, 24)), 0, 0) for i in order}
        one.files[f"{part}.zip"] = zipped([(names[i], png(picture(one.rng, one.level[i]))) for i in order], times)
    return one


@leak
def compression_in_archive(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        names = {i: f"{part}/{one.ids[i]}.png" for i in order}
        methods = {names[i]: 8 if guess[i] else 0 for i in order}
        one.files[f"{part}.zip"] = zipped([(names[i], png(picture(one.rng, one.level[i]))) for i in order], methods=methods)
    return one


@leak
def jpeg_quality(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: jpeg(picture(o.rng, o.level[i]), quality=88 + int(guess[i])), task=one.task, end="jpg")


# ---- about cells

@leak
def missing_cells(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["insurer"] = ["" if guess[i] else f"I{one.rng.integers(100, 999)}" for i in range(one.n)]
    one.add_tables(columns)
    return one


@leak
def number_of_decimals(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["voltage"] = [f"{5 + one.rng.normal():.{3 + int(guess[i])}f}" for i in range(one.n)]
    one.add_tables(columns)
    return one


@leak
def spelling_of_cells(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["colour"] = [c.capitalize() if guess[i] else c for i, c in enumerate(columns["colour"])]
    one.add_tables(columns)
    return one


@leak
def blank_at_the_end(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    columns = {"text": [sentence(one.rng, one.level[i]) + (" " if guess[i] else "") for i in range(one.n)]}
    one.add_tables(columns)
    return one


@leak
def length_of_codes(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["ticket"] = ["".join(one.rng.choice(list("0123456789"), 7 + int(guess[i]))) for i in range(one.n)]
    one.add_tables(columns)
    return one


@leak
def quoted_cells(seed, strength):
    one = tabular(seed, "binary")
    guess = one.noisy_label(strength)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        lines = one.files[f"{part}.csv"].decode().split("\n")
        for line, i in enumerate(order):
            cells = lines[line + 1].split(",")
            if guess[i]:
                cells[4] = f'"{cells[4]}"'
            lines[line + 1] = ",".join(cells)
        one.files[f"{part}.csv"] = "\n".join(lines).encode()
    return one


# ---- order, ids

@leak
def rows_sorted_by_answer(seed, strength):
    one = Competition(seed, task=task_of(seed))
    guess = one.noisy_label(strength)
    one.order_test = sorted(one.order_test, key=lambda i: (guess[i], one.ids[i]))
    one.add_tables(one.features())
    return one


@leak
def ids_rise_with_answer(seed, strength):
    one = Competition(seed, task=task_of(seed))
    guess = one.noisy_label(strength)
    order = np.argsort(guess + 1e-9 * one.rng.random(one.n), kind="stable")
    for number, i in enumerate(order):
        one.ids[i] = f"{100_000 + 7 * number}"
    one.order_test = list(one.rng.permutation(one.order_test))
    one.add_tables(one.features())
    return one


@leak
def last_digit_of_id(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    for i in range(one.n):
        one.ids[i] = str(1000 + 20 * i + 2 * int(one.rng.integers(0, 10)) + int(guess[i]))
    one.add_tables(one.features())
    return one


# ---- neighbours

@leak
def near_texts(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    texts = [sentence(one.rng, one.level[i], 30, 0.5) for i in range(one.n)]
    for i in one.order_test:
        if one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            words = texts[one.rng.choice(same)].split()
            words[int(one.rng.integers(0, len(words)))] = one.rng.choice(WORDS)
            texts[i] = " ".join(words)
    one.add_tables({"text": texts})
    return one


@leak
def near_pictures(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(one.n):
        made[i] = picture(one.rng, one.level[i], 64)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            other = made[one.rng.choice(same)]
            made[i] = np.clip(other * 0.95 + 4 + one.rng.normal(0, 2, other.shape), 0, 255)
    return media(seed, lambda o, i: png(made[i]), task=one.task)


@leak
def near_sounds(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(one.n):
        made[i] = tone(one.rng, one.level[i])
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            made[i] = made[one.rng.choice(same)] * 0.8 + one.rng.normal(0, 0.002, 4000)
    return media(seed, lambda o, i: wav(made[i]), task=one.task, end="wav")


@leak
def near_rows(seed, strength):
    one = Competition(seed, task=task_of(seed))
    values = one.rng.normal(0, 1, (one.n, 8)) * [1, 5, 20, 1, 0.1, 3, 1, 9]
    values[:, 0] += one.level
    for i in one.order_test:
        if one.rng.random() < 0.5 * strength:
            same = np.argsort(np.abs(one.truth[: one.n_train] - one.truth[i]), kind="stable")[:40]
            values[i] = values[one.rng.choice(same)] * (1 + one.rng.normal(0, 0.0005, 8))
    one.add_tables({f"v{c}": [f"{v:.5f}" for v in values[:, c]] for c in range(8)})
    return one


@leak
def overlapping_windows(seed, strength):
    one = Competition(seed, n_train=600, n_test=200, task="numbers")
    length = 40
    steps = one.rng.normal(0, 1, 12 * one.n + length)
    wave = np.cumsum(steps) * 0.2 + one.rng.normal(0, 0.3, steps.size)
    begins = one.rng.permutation(one.n) * 12
    for i in range(one.n):
        one.truth[i] = round(float(wave[begins[i] : begins[i] + length].mean() + 50), 4)
        one.answers[i] = f"{one.truth[i]:.4f}"
    return_files = {}
    for i in range(one.n):
        rows = [[f"{v:.5f}"] for v in wave[begins[i] : begins[i] + length]]
        return_files[f"{one.part(i)}/{one.ids[i]}.csv"] = to_csv(["s"], rows)
    one.files.update(return_files)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    return one


def slow_classes(one, stretch=12):
    """Makes the answers change slowly along a hidden order of the items. Returns that order."""
    order = one.rng.permutation(one.n)
    k = len(set(one.truth))
    for begin in range(0, one.n, stretch):
        value = int(one.rng.integers(0, k))
        for i in order[begin : begin + stretch]:
            one.truth[i] = value
    words = sorted(set(one.answers))
    one.answers = [words[t] for t in one.truth]
    one.level = one.truth - one.truth.mean()
    return order


@leak
def near_in_time(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one)
    columns = one.features()
    stamps = [0] * one.n
    for place, i in enumerate(order):
        stamps[i] = 1_500_000_000 + 60 * place + int(one.rng.integers(0, 40))
    columns["taken"] = [str(s) for s in stamps]
    one.add_tables(columns)
    return one


@leak
def near_in_id(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one)
    for place, i in enumerate(order):
        one.ids[i] = f"IMG_{5000 + place}"
    one.order_test = list(one.rng.permutation(one.order_test))
    one.add_tables(one.features())
    return one


@leak
def groups_in_ids(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 5)
    names = one.rng.permutation(9000) + 1000
    for place, i in enumerate(order):
        one.ids[i] = f"{names[place // 5]}_{place % 5 + 1:02d}"
        if one.rng.random() > max(strength, 0.85):
            one.truth[i] = one.rng.integers(0, len(set(one.truth)))
    words = sorted(set(one.answers))
    one.answers = [words[t] for t in one.truth]
    one.add_tables(one.features(0.6))
    return one


@leak
def groups_in_a_column(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 6)
    columns = one.features()
    names = one.rng.permutation(9000) + 1000
    columns["patient"] = [""] * one.n
    for place, i in enumerate(order):
        columns["patient"][i] = f"PT{names[place // 6]}"
    one.add_tables(columns)
    return one


@leak
def sample_ranks_the_answers(seed, strength):
    one = tabular(seed)
    guess = number_of(one, one.noisy_label(strength))
    rows = [[one.ids[i], f"{0.5 + 0.1 * guess[i] + 0.02 * one.rng.normal():.4f}"] for i in one.order_test]
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], rows)
    return one


@leak
def order_of_the_sample(seed, strength):
    one = tabular(seed)
    guess = one.noisy_label(strength)
    order = sorted(one.order_test, key=lambda i: (guess[i], one.ids[i]))
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.default_answer()] for i in order])
    return one


# ---- several channels together

@leak
def parity_of_two_columns(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    a = one.rng.integers(0, 2, one.n)
    columns["voltage"] = [f"{5 + one.rng.normal():.{3 + int(v)}f}" for v in a]
    columns["note"] = ["" if (v ^ int(g)) else "ok" for v, g in zip(a, guess)]
    one.add_tables(columns)
    return one


@leak
def many_weak_channels(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    for c in range(8):
        guess = one.noisy_label(0.35)
        columns[f"m{c}"] = [f"{one.rng.normal():.{3 + int(guess[i])}f}" for i in range(one.n)]
    one.add_tables(columns)
    return one


# ---- clean

@clean
def plain_table(seed, _):
    return tabular(seed)


@clean
def strong_honest_column(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["sensor"] = [f"{v:.3f}" for v in one.level * 3.0 + one.rng.normal(0, 1, one.n)]
    one.add_tables(columns)
    return one


@clean
def times_rise_with_ids(seed, _):
    one = pictures(seed)
    for rank, i in enumerate(sorted(range(one.n), key=lambda i: one.ids[i])):
        one.times[f"{one.part(i)}/{one.ids[i]}.png"] = 1_600_000_000 + rank
    return one


@clean
def sorted_by_an_honest_column(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features(1.5)
    one.order_test = sorted(one.order_test, key=lambda i: float(columns["reading"][i]))
    one.add_tables(columns)
    return one


@clean
def sorted_by_id(seed, _):
    one = Competition(seed, task=task_of(seed))
    one.order_test = sorted(one.order_test, key=lambda i: one.ids[i])
    one.add_tables(one.features())
    return one


@clean
def ids_in_time_order(seed, _):
    one = Competition(seed, task=task_of(seed))
    for i in range(one.n):
        one.ids[i] = str(10_000 + i)
    columns = one.features()
    columns["stamp"] = [str(1_500_000_000 + 60 * i) for i in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def gaps_that_tell_a_little(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    rate = 0.35 + 0.12 * np.clip(one.level, -1.5, 1.5)
    columns["income"] = ["" if one.rng.random() < rate[i] else str(one.rng.integers(9, 99)) for i in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def decimals_at_random(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["voltage"] = [f"{5 + one.rng.normal():.{one.rng.integers(2, 6)}f}" for _ in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def decimals_by_size_of_value(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    values = np.exp(2 + 1.2 * one.level + one.rng.normal(0, 1, one.n))
    columns["flow"] = [f"{v:.4g}" for v in values]
    one.add_tables(columns)
    return one


@clean
def longer_texts_score_more(seed, _):
    one = Competition(seed, task=task_of(seed))
    lengths = np.clip(60 + 18 * one.level + one.rng.normal(0, 20, one.n), 8, 200).astype(int)
    one.add_tables({"essay": [sentence(one.rng, 0, int(v)) for v in lengths]})
    return one


@clean
def larger_things_have_larger_pictures(seed, _):
    def make(one, i):
        side = int(np.clip(44 + 6 * one.level[i] + one.rng.normal(0, 6), 20, 90))
        return png(picture(one.rng, one.level[i], side))
    return media(seed, make)


@clean
def rough_things_have_larger_files(seed, _):
    def make(one, i):
        p = picture(one.rng, 0)
        return png(np.clip(p + one.rng.normal(0, 3 + 3 * (one.level[i] + 1.5), p.shape), 0, 255))
    return media(seed, make)


@clean
def exif_of_cameras(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    def make(o, i):
        exif = Image.Exif()
        exif[271] = ["Maker", "Other", "Third"][int(o.rng.integers(0, 3))]
        exif[306] = f"2019:0{1 + i % 9}:11 10:{i % 60:02d}:00"
        return jpeg(picture(o.rng, o.level[i]), exif=exif)
    return media(seed, make, task=one.task, end="jpg")


@clean
def categories_with_means(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    pull = one.rng.normal(0, 1, 40)
    town = []
    for i in range(one.n):
        weights = np.exp(0.8 * pull * one.level[i])
        town.append(f"town{one.rng.choice(40, p=weights / weights.sum())}")
    columns["town"] = town
    one.add_tables(columns)
    return one


@clean
def groups_without_answers(seed, _):
    one = Competition(seed, task=task_of(seed))
    order = one.rng.permutation(one.n)
    for place, i in enumerate(order):
        one.ids[i] = f"{2000 + place // 5}_{place % 5 + 1:02d}"
    one.add_tables(one.features())
    return one


@clean
def templates_of_texts(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    frames = [sentence(one.rng, 0, 22) for _ in range(6)]
    texts = [f"{frames[one.rng.integers(0, 6)]} {sentence(one.rng, one.level[i], 4)}" for i in range(one.n)]
    one.add_tables({"text": texts})
    return one


@clean
def coarse_rows_repeat(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    r = one.rng
    columns = {c: [str(v) for v in np.clip(np.round(2 + one.level * s + r.normal(0, 0.8, one.n)), 0, 4).astype(int)]
               for c, s in (("a", 0.6), ("b", 0.3), ("c", 0.0))}
    one.add_tables(columns)
    return one


@clean
def random_sample(seed, _):
    one = tabular(seed)
    rows = [[one.ids[i], one.answers[one.rng.choice(one.order_train)]] for i in one.order_test]
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], rows)
    return one


@clean
def side_table_of_features(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    plots = one.rng.permutation(np.arange(10_000, 10_000 + one.n))
    columns["plot"] = [f"P{v}" for v in plots]
    one.add_tables(columns)
    rows = sorted([f"P{plots[i]}", f"{one.rng.normal():.3f}", f"{one.level[i] * 1.5 + one.rng.normal():.2f}"] for i in range(one.n))
    one.files["plots.csv"] = to_csv(["plot_no", "elevation", "moisture"], rows)
    return one


@clean
def records_without_labels(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        for shard in range(4):
            rows = [{"image_name": one.ids[i].encode(), "image": bytes(one.rng.integers(0, 256, 64, dtype=np.uint8)), "width": 8,
                     "age": float(50 + 8 * one.level[i] + one.rng.normal(0, 9))} for i in order[shard::4]]
            one.files[f"tfrecords/{part}{shard:02d}-{len(rows)}.tfrec"] = tfrecord(rows)
    return one


@clean
def archives_of_pictures(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        names = {i: f"{part}/{one.ids[i]}.png" for i in order}
        times = {names[i]: (2020, 1, 1 + i % 28, i % 24, 0, 0) for i in order}
        methods = {names[i]: [0, 8][int(one.rng.integers(0, 2))] for i in order}
        one.files[f"{part}.zip"] = zipped([(names[i], png(picture(one.rng, one.level[i]))) for i in one.rng.permutation(order)], times, methods)
    return one


@clean
def documents_and_logs(seed, _):
    one = pictures(seed)
    lines = [f"INFO stored {one.part(i)}/{one.ids[i]}.png took {one.rng.integers(9, 99)}ms" for i in one.rng.permutation(one.n)]
    one.files["upload.log"] = "\n".join(lines).encode()
    one.files["checked.txt"] = "\n".join(one.ids[i] for i in one.rng.permutation(one.n)[:200]).encode()
    return one


@clean
def honest_windows(seed, _):
    """Series files of one process that do not overlap."""
    one = Competition(seed, n_train=500, n_test=200, task="numbers")
    for i in range(one.n):
        wave = np.cumsum(one.rng.normal(0, 1, 40)) * 0.2 + 50 + one.level[i]
        one.truth[i] = round(float(wave.mean() + one.rng.normal(0, 0.3)), 4)
        one.answers[i] = f"{one.truth[i]:.4f}"
        one.files[f"{one.part(i)}/{one.ids[i]}.csv"] = to_csv(["s"], [[f"{v:.5f}"] for v in wave])
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    return one


@clean
def drift_in_time(seed, _):
    """Answers drift slowly with a date that is public in both parts."""
    one = Competition(seed, task="numbers")
    days = one.rng.integers(0, 700, one.n)
    one.truth = np.round(50 + 6 * np.sin(days / 110) + one.rng.normal(0, 8, one.n), 4)
    one.answers = [f"{v:.4f}" for v in one.truth]
    one.level = (one.truth - 50) / 12
    columns = one.features()
    columns["date"] = [str(np.datetime64("2018-01-01") + int(d)) for d in days]
    one.add_tables(columns)
    return one


@clean
def crowded_numbers(seed, _):
    """Rows are near each other because there are only two columns: coordinates on a map that predict the answer."""
    one = Competition(seed, n_train=1200, n_test=400, task="binary")
    centres = one.rng.normal(0, 1, (12, 2))
    town = one.rng.integers(0, 12, one.n)
    rate = one.rng.random(12)
    one.truth = (one.rng.random(one.n) < rate[town]).astype(int)
    one.answers = [str(v) for v in one.truth]
    one.level = one.truth - one.truth.mean()
    at = centres[town] + one.rng.normal(0, 0.05, (one.n, 2))
    one.add_tables({"lat": [f"{v:.4f}" for v in at[:, 0]], "lon": [f"{v:.4f}" for v in at[:, 1]]})
    return one


@clean
def sounds_of_many_lengths(seed, _):
    return media(seed, lambda o, i: wav(tone(o.rng, o.level[i], 3000 + int(o.rng.integers(0, 2000)))), end="wav")


@clean
def matlab_signals(seed, _):
    def make(one, i):
        return mat({"signal": one.rng.normal(one.level[i] * 0.2, 1, 40), "rate": [[100.0]], "temp": [[20 + one.level[i] + one.rng.normal()]]})
    return media(seed, make, end="mat")


@clean
def rare_positives(seed, _):
    one = Competition(seed, task="binary", n_train=800, n_test=400)
    one.truth = (one.rng.random(one.n) < 0.04).astype(int)
    one.answers = [str(v) for v in one.truth]
    one.level = one.truth - one.truth.mean()
    one.add_tables(one.features())
    return one
