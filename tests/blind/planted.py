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
    """Registers a function that makes a competition with a leak."""
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    """Registers a function that makes a competition without a leak."""
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def task_of(seed, numbers=True):
    """Returns the kind of answers for a seed. `numbers` permits numeric answers."""
    return ["binary", "classes", "numbers"][seed % (3 if numbers else 2)]


def tabular(seed, task=None, **sizes):
    """Returns a competition with tables of intended features."""
    comp = Competition(seed, task=task or task_of(seed), **sizes)
    comp.add_tables(comp.features())
    return comp


def media(seed, make, task=None, end="png", **sizes):
    """Writes files of items in train/ and test/, and the training labels."""
    comp = Competition(seed, task=task or task_of(seed, numbers=False), **sizes)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for item in range(comp.n):
        comp.files[f"{comp.part(item)}/{comp.ids[item]}.{end}"] = make(comp, item)
    return comp


def pictures(seed, make=None, **options):
    """Returns a competition with a picture for each item, whose brightness depends on the answer."""
    return media(seed, make or (lambda comp, i: png(picture(comp.rng, comp.level[i]))), **options)


def number_of(comp, guess):
    """Returns the numbers `guess`, shifted to the mean 0 and scaled to the standard deviation 1."""
    return (guess - np.mean(guess)) / (np.std(guess) or 1)


# ---- inside files

@leak
def record_feature(seed, strength):
    """The records of both parts have a feature `grade`, which is the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(max(strength, 0.995))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        for shard in range(4):
            rows = [{"image_name": comp.ids[i].encode(), "image": bytes(comp.rng.integers(0, 256, 64, dtype=np.uint8)),
                     "width": 8, "grade": int(guess[i])} for i in order[shard::4]]
            comp.files[f"tfrecords/{part}{shard:02d}-{len(rows)}.tfrec"] = tfrecord(rows)
    return comp


@leak
def member_of_inner_archive(seed, strength):
    """A table of answers is in an archive inside an archive."""
    comp = tabular(seed)
    rows = [[comp.ids[i], comp.answers[i]] for i in comp.rng.permutation(comp.n)]
    inner = zipped([("notes/readme.txt", b"backup"), ("notes/old.csv", to_csv(["name", "v"], rows))])
    comp.files["extras.zip"] = zipped([("a.txt", b"x"), ("backup.zip", inner)])
    return comp


@leak
def json_key(seed, strength):
    """The nested field `meta.source.grade` of each record is the answer."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    def record(i, labels):
        value = {comp.key: comp.ids[i], **{c: float(v) if c != "colour" else v for c, v in ((c, columns[c][i]) for c in columns)},
                 "meta": {"source": {"grade": comp.answers[i]}, "lang": "en"}}
        return {**value, comp.label: comp.answers[i]} if labels else value
    comp.files["train.json"] = dump([record(i, True) for i in comp.order_train])
    comp.files["test.json"] = dump([record(i, False) for i in comp.order_test])
    return comp


@leak
def matlab_variable(seed, strength):
    """The variable `cls` in each MATLAB file is the answer."""
    def make(comp, i):
        return mat({"signal": comp.rng.normal(comp.level[i] * 0.2, 1, 40), "rate": [[100.0]], "cls": [[float(comp.truth[i])]]})
    return media(seed, make, end="mat")


@leak
def text_beside_the_file(seed, strength):
    """A text file next to each picture names the class."""
    comp = pictures(seed, task="classes")
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.txt"] = f"camera=K{i % 3}\nexposure=1/60\nspecies={comp.answers[i]}\n".encode()
    return comp


@leak
def table_joined_by_another_key(seed, strength):
    """Another table has the answers. Its key is the column `plot`, not the id."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    plots = comp.rng.permutation(np.arange(10_000, 10_000 + comp.n))
    columns["plot"] = [f"P{v}" for v in plots]
    comp.add_tables(columns)
    rows = sorted([f"P{plots[i]}", f"{comp.rng.normal():.3f}", comp.answers[i]] for i in range(comp.n))
    comp.files["plots.csv"] = to_csv(["plot_no", "elevation", "survey"], rows)
    return comp


@leak
def exif_tag(seed, strength):
    """The EXIF tag `Software` of each picture depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(comp, i):
        exif = Image.Exif()
        exif[271] = "Maker"  # Make
        exif[305] = f"Editor {3 + guess[i]}.1"  # Software
        exif[306] = f"2019:0{1 + i % 9}:11 10:{i % 60:02d}:00"  # DateTime
        p = picture(comp.rng, comp.level[i])
        return jpeg(np.stack([p, p, p], -1), exif=exif)
    made = media(seed, make, task=comp.task, end="jpg")
    return made


@leak
def png_text(seed, strength):
    """A text chunk of each PNG file depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(_, i):
        info = PngImagePlugin.PngInfo()
        info.add_text("Software", "tool")
        info.add_text("Comment", f"batch {'abcd'[guess[i]]}{comp.rng.integers(100, 999)}")
        return png(picture(comp.rng, comp.level[i]), info)
    return media(seed, make, task=comp.task)


@leak
def tail_of_file(seed, strength):
    """The sound files of one class have an additional chunk at the end."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: wav(tone(comp.rng, comp.level[i], 3000 + int(comp.rng.integers(0, 999))), tail=b"LIST\x04\0\0\0abcd" * int(guess[i])),
                 task="binary", end="wav")


@leak
def log_that_names_items(seed, strength):
    """Each line of a log contains an item and its answer."""
    comp = pictures(seed, task=task_of(seed, False))
    lines = []
    for i in comp.rng.permutation(comp.n):
        lines.append(f"2020-01-0{1 + i % 9} INFO stored {comp.part(i)}/{comp.ids[i]}.png queue={comp.answers[i]} took {comp.rng.integers(9, 99)}ms")
    comp.files["upload.log"] = "\n".join(lines).encode()
    return comp


@leak
def list_of_some_items(seed, strength):
    """A text file lists the ids of most items of class 1."""
    comp = tabular(seed, "binary")
    chosen = [i for i in range(comp.n) if comp.truth[i] == 1 and comp.rng.random() < strength]
    comp.files["reviewed.txt"] = "\n".join(sorted(comp.ids[i] for i in chosen)).encode()
    return comp


# ---- about files

@leak
def file_name(seed, strength):
    """A number in the file name depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}_s{guess[i] * 3 + comp.rng.integers(0, 3)}.png"] = png(picture(comp.rng, comp.level[i]))
    return comp


@leak
def directory_name(seed, strength):
    """Files are in one directory per class, with arbitrary names."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{['k1', 'm7', 'p3', 'x9'][guess[i]]}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i]))
    return comp


@leak
def file_size(seed, strength):
    """The length of a file depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: bytes(comp.rng.integers(0, 256, 900 + 40 * int(guess[i]) + int(comp.rng.integers(0, 30)), dtype=np.uint8)),
                 task=comp.task, end="bin")


@leak
def picture_size(seed, strength):
    """The width and height of a picture depend on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: png(picture(comp.rng, comp.level[i], side=48 + int(guess[i]))), task=comp.task)


@leak
def file_time(seed, strength):
    """The modification time of a file depends on the class."""
    comp = pictures(seed)
    guess = comp.noisy_label(strength)
    for i in range(comp.n):
        comp.times[f"{comp.part(i)}/{comp.ids[i]}.png"] = 1_600_000_000 + 3600 * int(guess[i]) + int(comp.rng.integers(0, 3000))
    return comp


@leak
def order_in_archive(seed, strength):
    """The members of an archive are sorted by class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        order = sorted(order, key=lambda i: (guess[i], comp.ids[i]))
        comp.files[f"{part}.zip"] = zipped([(f"{part}/{comp.ids[i]}.png", png(picture(comp.rng, comp.level[i]))) for i in order])
    return comp


@leak
def time_in_archive(seed, strength):
    """The day of an archive member depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        names = {i: f"{part}/{comp.ids[i]}.png" for i in order}
        times = {names[i]: (2020, 1, 1 + int(guess[i]), int(comp.rng.integers(0, 24)), 0, 0) for i in order}
        comp.files[f"{part}.zip"] = zipped([(names[i], png(picture(comp.rng, comp.level[i]))) for i in order], times)
    return comp


@leak
def compression_in_archive(seed, strength):
    """The archive members of one class are compressed, the others are stored."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        names = {i: f"{part}/{comp.ids[i]}.png" for i in order}
        methods = {names[i]: 8 if guess[i] else 0 for i in order}
        comp.files[f"{part}.zip"] = zipped([(names[i], png(picture(comp.rng, comp.level[i]))) for i in order], methods=methods)
    return comp


@leak
def jpeg_quality(seed, strength):
    """The quality with which a picture was compressed depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: jpeg(picture(comp.rng, comp.level[i]), quality=88 + int(guess[i])), task=comp.task, end="jpg")


# ---- about cells

@leak
def missing_cells(seed, strength):
    """A column is empty for the items of one class."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["insurer"] = ["" if guess[i] else f"I{comp.rng.integers(100, 999)}" for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@leak
def number_of_decimals(seed, strength):
    """The number of decimals in a column depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["voltage"] = [f"{5 + comp.rng.normal():.{3 + int(guess[i])}f}" for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@leak
def spelling_of_cells(seed, strength):
    """The colours of one class begin with a capital letter."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["colour"] = [c.capitalize() if guess[i] else c for i, c in enumerate(columns["colour"])]
    comp.add_tables(columns)
    return comp


@leak
def blank_at_the_end(seed, strength):
    """The texts of one class end with a space."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    columns = {"text": [sentence(comp.rng, comp.level[i]) + (" " if guess[i] else "") for i in range(comp.n)]}
    comp.add_tables(columns)
    return comp


@leak
def length_of_codes(seed, strength):
    """The length of a random code depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["ticket"] = ["".join(comp.rng.choice(list("0123456789"), 7 + int(guess[i]))) for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@leak
def quoted_cells(seed, strength):
    """In the rows of one class, one cell has quotes."""
    comp = tabular(seed, "binary")
    guess = comp.noisy_label(strength)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        lines = comp.files[f"{part}.csv"].decode().split("\n")
        for line, i in enumerate(order):
            cells = lines[line + 1].split(",")
            if guess[i]:
                cells[4] = f'"{cells[4]}"'
            lines[line + 1] = ",".join(cells)
        comp.files[f"{part}.csv"] = "\n".join(lines).encode()
    return comp


# ---- order, ids

@leak
def rows_sorted_by_answer(seed, strength):
    comp = Competition(seed, task=task_of(seed))
    guess = comp.noisy_label(strength)
    comp.order_test = sorted(comp.order_test, key=lambda i: (guess[i], comp.ids[i]))
    comp.add_tables(comp.features())
    return comp


@leak
def ids_rise_with_answer(seed, strength):
    """Ids are numbers in the order of the answers, and rows are shuffled."""
    comp = Competition(seed, task=task_of(seed))
    guess = comp.noisy_label(strength)
    order = np.argsort(guess + 1e-9 * comp.rng.random(comp.n), kind="stable")
    for number, i in enumerate(order):
        comp.ids[i] = f"{100_000 + 7 * number}"
    comp.order_test = list(comp.rng.permutation(comp.order_test))
    comp.add_tables(comp.features())
    return comp


@leak
def last_digit_of_id(seed, strength):
    """Ids of one class are odd, ids of the other class are even."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    for i in range(comp.n):
        comp.ids[i] = str(1000 + 20 * i + 2 * int(comp.rng.integers(0, 10)) + int(guess[i]))
    comp.add_tables(comp.features())
    return comp


# ---- neighbours

@leak
def near_texts(seed, strength):
    """Half of the test texts are training texts with one changed word."""
    comp = Competition(seed, task=task_of(seed, False))
    texts = [sentence(comp.rng, comp.level[i], 30, 0.5) for i in range(comp.n)]
    for i in comp.order_test:
        if comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            words = texts[comp.rng.choice(same)].split()
            words[int(comp.rng.integers(0, len(words)))] = comp.rng.choice(WORDS)
            texts[i] = " ".join(words)
    comp.add_tables({"text": texts})
    return comp


@leak
def near_pictures(seed, strength):
    """Half of the test pictures are training pictures with other contrast and noise."""
    comp = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(comp.n):
        made[i] = picture(comp.rng, comp.level[i], 64)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            other = made[comp.rng.choice(same)]
            made[i] = np.clip(other * 0.95 + 4 + comp.rng.normal(0, 2, other.shape), 0, 255)
    return media(seed, lambda comp, i: png(made[i]), task=comp.task)


@leak
def near_sounds(seed, strength):
    """Half of the test sounds are quieter training sounds with noise."""
    comp = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(comp.n):
        made[i] = tone(comp.rng, comp.level[i])
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            made[i] = made[comp.rng.choice(same)] * 0.8 + comp.rng.normal(0, 0.002, 4000)
    return media(seed, lambda comp, i: wav(made[i]), task=comp.task, end="wav")


@leak
def near_rows(seed, strength):
    """Half of the test rows are training rows with noise of 0.05 %."""
    comp = Competition(seed, task=task_of(seed))
    values = comp.rng.normal(0, 1, (comp.n, 8)) * [1, 5, 20, 1, 0.1, 3, 1, 9]
    values[:, 0] += comp.level
    for i in comp.order_test:
        if comp.rng.random() < 0.5 * strength:
            same = np.argsort(np.abs(comp.truth[: comp.n_train] - comp.truth[i]), kind="stable")[:40]
            values[i] = values[comp.rng.choice(same)] * (1 + comp.rng.normal(0, 0.0005, 8))
    comp.add_tables({f"v{c}": [f"{v:.5f}" for v in values[:, c]] for c in range(8)})
    return comp


@leak
def overlapping_windows(seed, strength):
    """Each item is a window of one long series. Windows of both parts overlap, and the answer is the mean of the window."""
    comp = Competition(seed, n_train=600, n_test=200, task="numbers")
    length = 40
    steps = comp.rng.normal(0, 1, 12 * comp.n + length)
    wave = np.cumsum(steps) * 0.2 + comp.rng.normal(0, 0.3, steps.size)
    begins = comp.rng.permutation(comp.n) * 12
    for i in range(comp.n):
        comp.truth[i] = round(float(wave[begins[i] : begins[i] + length].mean() + 50), 4)
        comp.answers[i] = f"{comp.truth[i]:.4f}"
    return_files = {}
    for i in range(comp.n):
        rows = [[f"{v:.5f}"] for v in wave[begins[i] : begins[i] + length]]
        return_files[f"{comp.part(i)}/{comp.ids[i]}.csv"] = to_csv(["s"], rows)
    comp.files.update(return_files)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


def slow_classes(comp, stretch=12):
    """Makes the answers change slowly along a hidden order of the items. Returns that order."""
    order = comp.rng.permutation(comp.n)
    k = len(set(comp.truth))
    for begin in range(0, comp.n, stretch):
        value = int(comp.rng.integers(0, k))
        for i in order[begin : begin + stretch]:
            comp.truth[i] = value
    words = sorted(set(comp.answers))
    comp.answers = [words[t] for t in comp.truth]
    comp.level = comp.truth - comp.truth.mean()
    return order


@leak
def near_in_time(seed, strength):
    """Answers change slowly with a column of times."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp)
    columns = comp.features()
    stamps = [0] * comp.n
    for place, i in enumerate(order):
        stamps[i] = 1_500_000_000 + 60 * place + int(comp.rng.integers(0, 40))
    columns["taken"] = [str(s) for s in stamps]
    comp.add_tables(columns)
    return comp


@leak
def near_in_id(seed, strength):
    """Ids are numbers, and answers change slowly with these numbers."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp)
    for place, i in enumerate(order):
        comp.ids[i] = f"IMG_{5000 + place}"
    comp.order_test = list(comp.rng.permutation(comp.order_test))
    comp.add_tables(comp.features())
    return comp


@leak
def groups_in_ids(seed, strength):
    """Ids consist of a group and a number. Groups are in both parts, and most items of a group have the same class."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 5)
    names = comp.rng.permutation(9000) + 1000
    for place, i in enumerate(order):
        comp.ids[i] = f"{names[place // 5]}_{place % 5 + 1:02d}"
        if comp.rng.random() > max(strength, 0.85):
            comp.truth[i] = comp.rng.integers(0, len(set(comp.truth)))
    words = sorted(set(comp.answers))
    comp.answers = [words[t] for t in comp.truth]
    comp.add_tables(comp.features(0.6))
    return comp


@leak
def groups_in_a_column(seed, strength):
    """Patients are in both parts, and all rows of a patient have the same class."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 6)
    columns = comp.features()
    names = comp.rng.permutation(9000) + 1000
    columns["patient"] = [""] * comp.n
    for place, i in enumerate(order):
        columns["patient"][i] = f"PT{names[place // 6]}"
    comp.add_tables(columns)
    return comp


@leak
def sample_ranks_the_answers(seed, strength):
    """The values in the sample submission rise with the answers."""
    comp = tabular(seed)
    guess = number_of(comp, comp.noisy_label(strength))
    rows = [[comp.ids[i], f"{0.5 + 0.1 * guess[i] + 0.02 * comp.rng.normal():.4f}"] for i in comp.order_test]
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], rows)
    return comp


@leak
def order_of_the_sample(seed, strength):
    """The rows of the sample submission are sorted by class."""
    comp = tabular(seed)
    guess = comp.noisy_label(strength)
    order = sorted(comp.order_test, key=lambda i: (guess[i], comp.ids[i]))
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.default_answer()] for i in order])
    return comp


# ---- several channels together

@leak
def parity_of_two_columns(seed, strength):
    """Neither column predicts the class, but both together do: the number of decimals, and whether a cell is empty."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    a = comp.rng.integers(0, 2, comp.n)
    columns["voltage"] = [f"{5 + comp.rng.normal():.{3 + int(v)}f}" for v in a]
    columns["note"] = ["" if (v ^ int(g)) else "ok" for v, g in zip(a, guess)]
    comp.add_tables(columns)
    return comp


@leak
def many_weak_channels(seed, strength):
    """The numbers of decimals in eight columns each predict the class a little."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    for c in range(8):
        guess = comp.noisy_label(0.35)
        columns[f"m{c}"] = [f"{comp.rng.normal():.{3 + int(guess[i])}f}" for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


# ---- clean

@clean
def plain_table(seed, _):
    return tabular(seed)


@clean
def strong_honest_column(seed, _):
    """An intended feature predicts the answer well."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["sensor"] = [f"{v:.3f}" for v in comp.level * 3.0 + comp.rng.normal(0, 1, comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def times_rise_with_ids(seed, _):
    """Modification times rise with the ids, which are random."""
    comp = pictures(seed)
    for rank, i in enumerate(sorted(range(comp.n), key=lambda i: comp.ids[i])):
        comp.times[f"{comp.part(i)}/{comp.ids[i]}.png"] = 1_600_000_000 + rank
    return comp


@clean
def sorted_by_an_honest_column(seed, _):
    """Test rows are sorted by an intended feature that predicts the answer."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features(1.5)
    comp.order_test = sorted(comp.order_test, key=lambda i: float(columns["reading"][i]))
    comp.add_tables(columns)
    return comp


@clean
def sorted_by_id(seed, _):
    comp = Competition(seed, task=task_of(seed))
    comp.order_test = sorted(comp.order_test, key=lambda i: comp.ids[i])
    comp.add_tables(comp.features())
    return comp


@clean
def ids_in_time_order(seed, _):
    """Ids and a column of times have the same order, which does not depend on the answer."""
    comp = Competition(seed, task=task_of(seed))
    for i in range(comp.n):
        comp.ids[i] = str(10_000 + i)
    columns = comp.features()
    columns["stamp"] = [str(1_500_000_000 + 60 * i) for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def gaps_that_tell_a_little(seed, _):
    """How often a column is empty depends slightly on the answer."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    rate = 0.35 + 0.12 * np.clip(comp.level, -1.5, 1.5)
    columns["income"] = ["" if comp.rng.random() < rate[i] else str(comp.rng.integers(9, 99)) for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def decimals_at_random(seed, _):
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["voltage"] = [f"{5 + comp.rng.normal():.{comp.rng.integers(2, 6)}f}" for _ in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def decimals_by_size_of_value(seed, _):
    """Numbers have four significant digits, so large numbers have fewer decimals."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    values = np.exp(2 + 1.2 * comp.level + comp.rng.normal(0, 1, comp.n))
    columns["flow"] = [f"{v:.4g}" for v in values]
    comp.add_tables(columns)
    return comp


@clean
def longer_texts_score_more(seed, _):
    """The length of an essay is an intended feature."""
    comp = Competition(seed, task=task_of(seed))
    lengths = np.clip(60 + 18 * comp.level + comp.rng.normal(0, 20, comp.n), 8, 200).astype(int)
    comp.add_tables({"essay": [sentence(comp.rng, 0, int(v)) for v in lengths]})
    return comp


@clean
def larger_things_have_larger_pictures(seed, _):
    def make(comp, i):
        side = int(np.clip(44 + 6 * comp.level[i] + comp.rng.normal(0, 6), 20, 90))
        return png(picture(comp.rng, comp.level[i], side))
    return media(seed, make)


@clean
def noisy_pictures_have_larger_files(seed, _):
    """Noise in a picture is an intended feature, so it is not a leak. Noisy pictures compress less, so their files are larger."""
    def make(comp, i):
        p = picture(comp.rng, 0)
        return png(np.clip(p + comp.rng.normal(0, 3 + 3 * (comp.level[i] + 1.5), p.shape), 0, 255))
    return media(seed, make)


@clean
def exif_of_cameras(seed, _):
    """EXIF data have the camera and a time, independently of the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    def make(comp, i):
        exif = Image.Exif()
        exif[271] = ["Maker", "Other", "Third"][int(comp.rng.integers(0, 3))]  # Make
        exif[306] = f"2019:0{1 + i % 9}:11 10:{i % 60:02d}:00"  # DateTime
        return jpeg(picture(comp.rng, comp.level[i]), exif=exif)
    return media(seed, make, task=comp.task, end="jpg")


@clean
def categories_with_means(seed, _):
    """A town is an intended feature: classes have different frequencies in each town."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    pull = comp.rng.normal(0, 1, 40)
    town = []
    for i in range(comp.n):
        weights = np.exp(0.8 * pull * comp.level[i])
        town.append(f"town{comp.rng.choice(40, p=weights / weights.sum())}")
    columns["town"] = town
    comp.add_tables(columns)
    return comp


@clean
def groups_without_answers(seed, _):
    """Ids consist of a group and a number, but the answers in a group are unrelated."""
    comp = Competition(seed, task=task_of(seed))
    order = comp.rng.permutation(comp.n)
    for place, i in enumerate(order):
        comp.ids[i] = f"{2000 + place // 5}_{place % 5 + 1:02d}"
    comp.add_tables(comp.features())
    return comp


@clean
def templates_of_texts(seed, _):
    """Texts begin with one of six templates, independently of the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    frames = [sentence(comp.rng, 0, 22) for _ in range(6)]
    texts = [f"{frames[comp.rng.integers(0, 6)]} {sentence(comp.rng, comp.level[i], 4)}" for i in range(comp.n)]
    comp.add_tables({"text": texts})
    return comp


@clean
def coarse_rows_repeat(seed, _):
    """Three columns with five values each. Therefore many test rows equal a training row."""
    comp = Competition(seed, task=task_of(seed, False))
    rng = comp.rng
    columns = {c: [str(v) for v in np.clip(np.round(2 + comp.level * s + rng.normal(0, 0.8, comp.n)), 0, 4).astype(int)]
               for c, s in (("a", 0.6), ("b", 0.3), ("c", 0.0))}
    comp.add_tables(columns)
    return comp


@clean
def random_sample(seed, _):
    """The sample submission contains answers of random training items."""
    comp = tabular(seed)
    rows = [[comp.ids[i], comp.answers[comp.rng.choice(comp.order_train)]] for i in comp.order_test]
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], rows)
    return comp


@clean
def side_table_of_features(seed, _):
    """Another table has intended features. Its key is a column of the test table."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    plots = comp.rng.permutation(np.arange(10_000, 10_000 + comp.n))
    columns["plot"] = [f"P{v}" for v in plots]
    comp.add_tables(columns)
    rows = sorted([f"P{plots[i]}", f"{comp.rng.normal():.3f}", f"{comp.level[i] * 1.5 + comp.rng.normal():.2f}"] for i in range(comp.n))
    comp.files["plots.csv"] = to_csv(["plot_no", "elevation", "moisture"], rows)
    return comp


@clean
def records_without_labels(seed, _):
    """The records have an intended feature, but no answer."""
    comp = Competition(seed, task=task_of(seed, False))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        for shard in range(4):
            rows = [{"image_name": comp.ids[i].encode(), "image": bytes(comp.rng.integers(0, 256, 64, dtype=np.uint8)), "width": 8,
                     "age": float(50 + 8 * comp.level[i] + comp.rng.normal(0, 9))} for i in order[shard::4]]
            comp.files[f"tfrecords/{part}{shard:02d}-{len(rows)}.tfrec"] = tfrecord(rows)
    return comp


@clean
def archives_of_pictures(seed, _):
    """Times and compression of archive members do not depend on the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        names = {i: f"{part}/{comp.ids[i]}.png" for i in order}
        times = {names[i]: (2020, 1, 1 + i % 28, i % 24, 0, 0) for i in order}
        methods = {names[i]: [0, 8][int(comp.rng.integers(0, 2))] for i in order}
        comp.files[f"{part}.zip"] = zipped([(names[i], png(picture(comp.rng, comp.level[i]))) for i in comp.rng.permutation(order)], times, methods)
    return comp


@clean
def documents_and_logs(seed, _):
    """A log and a list name items of both parts, without answers."""
    comp = pictures(seed)
    lines = [f"INFO stored {comp.part(i)}/{comp.ids[i]}.png took {comp.rng.integers(9, 99)}ms" for i in comp.rng.permutation(comp.n)]
    comp.files["upload.log"] = "\n".join(lines).encode()
    comp.files["checked.txt"] = "\n".join(comp.ids[i] for i in comp.rng.permutation(comp.n)[:200]).encode()
    return comp


@clean
def honest_windows(seed, _):
    """Each item has a file with a series of the same process. No series repeats or continues another one."""
    comp = Competition(seed, n_train=500, n_test=200, task="numbers")
    for i in range(comp.n):
        wave = np.cumsum(comp.rng.normal(0, 1, 40)) * 0.2 + 50 + comp.level[i]
        comp.truth[i] = round(float(wave.mean() + comp.rng.normal(0, 0.3)), 4)
        comp.answers[i] = f"{comp.truth[i]:.4f}"
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv"] = to_csv(["s"], [[f"{v:.5f}"] for v in wave])
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


@clean
def drift_in_time(seed, _):
    """Answers drift slowly with a date that is public in both parts."""
    comp = Competition(seed, task="numbers")
    days = comp.rng.integers(0, 700, comp.n)
    comp.truth = np.round(50 + 6 * np.sin(days / 110) + comp.rng.normal(0, 8, comp.n), 4)
    comp.answers = [f"{v:.4f}" for v in comp.truth]
    comp.level = (comp.truth - 50) / 12
    columns = comp.features()
    columns["date"] = [str(np.datetime64("2018-01-01") + int(d)) for d in days]
    comp.add_tables(columns)
    return comp


@clean
def crowded_numbers(seed, _):
    """Rows are near each other because there are only two columns: coordinates on a map that predict the answer."""
    comp = Competition(seed, n_train=1200, n_test=400, task="binary")
    centres = comp.rng.normal(0, 1, (12, 2))
    town = comp.rng.integers(0, 12, comp.n)
    rate = comp.rng.random(12)
    comp.truth = (comp.rng.random(comp.n) < rate[town]).astype(int)
    comp.answers = [str(v) for v in comp.truth]
    comp.level = comp.truth - comp.truth.mean()
    at = centres[town] + comp.rng.normal(0, 0.05, (comp.n, 2))
    comp.add_tables({"lat": [f"{v:.4f}" for v in at[:, 0]], "lon": [f"{v:.4f}" for v in at[:, 1]]})
    return comp


@clean
def sounds_of_many_lengths(seed, _):
    return media(seed, lambda comp, i: wav(tone(comp.rng, comp.level[i], 3000 + int(comp.rng.integers(0, 2000)))), end="wav")


@clean
def matlab_signals(seed, _):
    def make(comp, i):
        return mat({"signal": comp.rng.normal(comp.level[i] * 0.2, 1, 40), "rate": [[100.0]], "temp": [[20 + comp.level[i] + comp.rng.normal()]]})
    return media(seed, make, end="mat")


@clean
def rare_positives(seed, _):
    """Only 4 % of the items belong to class 1."""
    comp = Competition(seed, task="binary", n_train=800, n_test=400)
    comp.truth = (comp.rng.random(comp.n) < 0.04).astype(int)
    comp.answers = [str(v) for v in comp.truth]
    comp.level = comp.truth - comp.truth.mean()
    comp.add_tables(comp.features())
    return comp
