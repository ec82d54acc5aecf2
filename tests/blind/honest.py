"""Competitions without leaks whose shapes look like leaks: groups that are entirely in one part, files of equal length,
ids that coincide or are unusual, empty cells, and few items.

`draw` makes a competition with random properties. New seeds give competitions on which the detectors were not tuned.
"""

import io
import json

import numpy as np
from PIL import Image

from competition import Competition, WORDS, dump, jpeg, npy, picture, png, sentence, to_csv, tone, wav, zipped

LEAKS, CLEAN = {}, {}


def clean(function):
    """Registers a function that makes a competition without a leak."""
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def blank(seed, n_train, n_test, task="binary", **options):
    """A competition whose ids, answers and levels can be replaced before its files are written."""
    return Competition(seed, n_train=n_train, n_test=n_test, task=task, **options)


def set_answers(comp, truth, task):
    """Sets the answers of all items from classes or numbers."""
    comp.task, comp.truth = task, np.asarray(truth)
    if task == "numbers":
        comp.answers = [f"{v:.4f}" for v in comp.truth]
        comp.level = (comp.truth - np.mean(comp.truth)) / (np.std(comp.truth) or 1)
    else:
        words = ["0", "1"] if task == "binary" else ["ash", "birch", "cedar", "elm"]
        comp.answers = [words[int(t)] for t in comp.truth]
        comp.level = comp.truth - np.mean(comp.truth)


def grouped(seed, train_groups, test_groups, task="numbers", name=None, drift=0.0, signal=0.6, size=(6, 20), noise=0.0, mixed=0.0):
    """Returns a competition with groups of items, each entirely in one part. The answer depends on the group.

    `drift` makes the answer change slowly within a group, and `noise` is added to the answer. `mixed` is the
    fraction of items that get a random class. `name` maps a group and a position in the group to an id.
    """
    rng = np.random.default_rng(seed + 90_000)
    sizes = [int(v) for v in rng.integers(*size, train_groups + test_groups)]
    n_train = sum(sizes[:train_groups])
    comp = blank(seed, n_train, sum(sizes) - n_train)
    comp.group = np.repeat(np.arange(len(sizes)), sizes)
    comp.position = np.concatenate([np.arange(s) for s in sizes])
    if task == "numbers":
        level = rng.normal(50, 12, len(sizes))[comp.group]
        slope = rng.normal(0, drift, len(sizes))[comp.group] * (comp.position + 1)
        truth = level + slope + rng.normal(0, 1, comp.n) * noise
    else:
        k = 2 if task == "binary" else 4
        truth = rng.integers(0, k, len(sizes))[comp.group]
        flip = rng.random(comp.n) < mixed
        truth = np.where(flip, rng.integers(0, k, comp.n), truth)
    set_answers(comp, truth, task)
    comp.code = rng.permutation(len(sizes) * 3)[: len(sizes)]
    if name:
        comp.ids = [name(comp, int(g), int(p)) for g, p in zip(comp.group, comp.position)]
    comp.signal = signal
    return comp


def with_tables(comp, **more):
    """Adds tables of intended features. `more` maps further columns to functions from an item to its cell."""
    columns = comp.features(getattr(comp, "signal", 0.8))
    columns.update({name: [cell(i) for i in range(comp.n)] for name, cell in more.items()})
    comp.add_tables(columns)
    return comp


def trip(comp, g, p):
    """Returns the id of the item at position `p` of the trip `g`."""
    return f"trip{comp.code[g]:03d}_{p:03d}"


# ---- groups that are entirely in one part

@clean
def trips(seed, _):
    return with_tables(grouped(seed, 60, 25, name=trip))


@clean
def trips_with_drift(seed, _):
    return with_tables(grouped(seed, 40, 12, name=trip, drift=1.5, size=(20, 40)))


@clean
def few_trips(seed, _):
    return with_tables(grouped(seed, 20, 6, name=trip, size=(30, 60)))


@clean
def many_trips(seed, _):
    return with_tables(grouped(seed, 250, 100, name=trip, size=(3, 9)))


@clean
def patients(seed, _):
    return with_tables(grouped(seed, 80, 40, "binary", name=lambda comp, g, p: f"h_{comp.code[g]:03d}_{p:02d}"))


@clean
def few_patients(seed, _):
    return with_tables(grouped(seed, 30, 10, "binary", name=lambda comp, g, p: f"{comp.code[g]:02d}-{p}", size=(15, 40)))


@clean
def patients_in_a_column(seed, _):
    comp = grouped(seed, 60, 18, "binary")
    return with_tables(comp, patient=lambda i: f"P{comp.code[comp.group[i]]:04d}")


@clean
def patients_with_numbers(seed, _):
    comp = grouped(seed, 60, 12, "binary", size=(15, 30))
    return with_tables(comp, subject=lambda i: str(comp.code[comp.group[i]]))


@clean
def patients_in_a_side_table(seed, _):
    """A table with the patient and the visit of every item of both parts."""
    comp = with_tables(grouped(seed, 60, 20, "classes"))
    rows = [[comp.ids[i], f"P{comp.code[comp.group[i]]:04d}", str(comp.position[i])] for i in range(comp.n)]
    comp.files["visits.csv"] = to_csv([comp.key, "patient", "visit"], rows)
    return comp


@clean
def patients_of_mixed_classes(seed, _):
    """A fifth of the items of a patient have a random class."""
    return with_tables(grouped(seed, 50, 20, "classes", name=lambda comp, g, p: f"s{comp.code[g]}v{p}", mixed=0.2))


@clean
def rows_of_unnamed_sessions(seed, _):
    """Rows of a session are adjacent, but neither ids nor columns name it."""
    return with_tables(grouped(seed, 60, 25))


@clean
def unnamed_sessions_of_classes(seed, _):
    return with_tables(grouped(seed, 60, 30, "binary", size=(6, 16)))


@clean
def directories_of_patients(seed, _):
    comp = grouped(seed, 40, 15, "binary", size=(8, 20))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/patient{comp.code[comp.group[i]]:03d}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i], 24))
    return comp


@clean
def cameras_of_sessions(seed, _):
    """The EXIF data of the pictures of a session have their own software and day."""
    comp = grouped(seed, 40, 20, "binary", size=(6, 14))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        exif = Image.Exif()
        exif[0x0131] = f"firmware {comp.code[comp.group[i]]}"  # Software
        exif[0x0132] = f"2020:01:{1 + comp.code[comp.group[i]] % 28:02d} {8 + comp.position[i] // 60:02d}:{comp.position[i] % 60:02d}:00"  # DateTime
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.jpg"] = jpeg(picture(comp.rng, comp.level[i], 32), exif=exif)
    return comp


@clean
def times_of_sessions(seed, _):
    """Files are written session after session, days apart."""
    comp = grouped(seed, 40, 25, "numbers")
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        path = f"{comp.part(i)}/{comp.ids[i]}.png"
        comp.files[path] = png(picture(comp.rng, comp.level[i], 24))
        comp.times[path] = 1_577_836_800 + 86_400 * int(comp.code[comp.group[i]]) + 7 * int(comp.position[i])
    return comp


@clean
def archive_of_sessions(seed, _):
    """Members of an archive are in the order of sessions."""
    comp = grouped(seed, 40, 25, "binary")
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        comp.files[f"{part}.zip"] = zipped([(f"{part}/{comp.ids[i]}.png", png(picture(comp.rng, comp.level[i], 24))) for i in order])
    return comp


@clean
def numbered_rides(seed, _):
    """Ids count the rows of all rides. The test part has the last rides."""
    comp = grouped(seed, 50, 15)
    comp.ids = [str(100_000 + i) for i in range(comp.n)]
    return with_tables(comp)


@clean
def camera_traps(seed, _):
    """Each place has its usual animals, and test places are new."""
    comp = grouped(seed, 50, 20, "classes", mixed=0.4, name=lambda comp, g, p: f"loc{comp.code[g]:03d}-{p:04d}")
    return with_tables(comp, place=lambda i: f"loc{comp.code[comp.group[i]]:03d}")


@clean
def speakers(seed, _):
    comp = grouped(seed, 30, 12, "binary", size=(10, 25), name=lambda comp, g, p: f"spk{comp.code[g]:02d}utt{p:03d}")
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.wav"] = wav(tone(comp.rng, comp.level[i], 1500))
    return comp


@clean
def later_months(seed, _):
    """A series whose last days are the test part. Ids are dates, and the target changes slowly."""
    comp = blank(seed, 700, 250)
    set_answers(comp, 50 + np.cumsum(comp.rng.normal(0, 1, comp.n)), "numbers")
    days = np.datetime64("2015-01-01") + np.arange(comp.n)
    comp.ids = [str(day) for day in days]
    return with_tables(comp)


@clean
def stores_and_days(seed, _):
    """Sales of stores. The test part has the last sixty days of each store."""
    comp = blank(seed, 12 * 120, 12 * 60)
    rng = comp.rng
    base, season = rng.normal(50, 10, 12), 6 * np.sin(np.arange(180) / 9)
    truth, ids, cells = [], [], []
    for begin, end in ((0, 120), (120, 180)):
        for store in range(12):
            for day in range(begin, end):
                truth.append(base[store] + season[day] + rng.normal(0, 3))
                ids.append(f"{store + 1}_{np.datetime64('2019-01-01') + day}")
                cells.append((str(store + 1), str(np.datetime64("2019-01-01") + day)))
    set_answers(comp, truth, "numbers")
    comp.ids = ids
    return with_tables(comp, store=lambda i: cells[i][0], date=lambda i: cells[i][1])


@clean
def queries_with_results(seed, _):
    """Results of a query are adjacent; the answer is whether the query is about health."""
    comp = grouped(seed, 120, 50, "binary", size=(4, 10))
    return with_tables(comp, query=lambda i: f"q{comp.code[comp.group[i]] + 1000}", rank=lambda i: str(comp.position[i] + 1))


# ---- files of equal length

def equal_lengths(seed, make, end, n_train=2500, n_test=300):
    """Writes a file for each item. `make` must return files of equal length."""
    comp = blank(seed, n_train, n_test, "binary")
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.{end}"] = make(comp, i)
    return comp


@clean
def pictures_of_equal_length(seed, _):
    return equal_lengths(seed, lambda comp, i: png(comp.rng.integers(0, 256, (16, 16)) * 0.5 + 30 * (comp.level[i] + 1), level=0), "png", n_train=4000, n_test=400)


@clean
def arrays_of_equal_length(seed, _):
    return equal_lengths(seed, lambda comp, i: npy(comp.rng.normal(comp.level[i] * 0.3, 1, 24).astype("f4")), "npy")


@clean
def sounds_of_equal_length(seed, _):
    return equal_lengths(seed, lambda comp, i: wav(comp.rng.normal(0, 0.05 + 0.03 * (comp.level[i] + 1), 120)), "wav")


@clean
def raw_blocks(seed, _):
    return equal_lengths(seed, lambda comp, i: bytes(comp.rng.integers(0, 256, 96, dtype=np.uint8)), "bin")


# ---- ids that coincide

@clean
def parts_numbered_from_zero(seed, _):
    """Items of both parts are numbered from 0, so ids coincide."""
    comp = blank(seed, 900, 300, "binary")
    comp.ids = [str(i) for i in range(900)] + [str(i) for i in range(300)]
    with_tables(comp)
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i], 16))
    return comp


@clean
def twins_in_the_training_part(seed, _):
    """Directories of items are numbered from 1 in both parts. Some training items have equal files."""
    comp = blank(seed, 900, 240, "numbers")
    comp.ids = [str(i + 1) for i in range(900)] + [str(i + 1) for i in range(240)]
    with_tables(comp)
    for i in range(comp.n):
        shown = i - 450 if 450 <= i < 900 and i % 25 == 0 else i
        rng = np.random.default_rng(seed * 7919 + shown)
        text = "".join(f"atom {a:.4f} {b:.4f} {c:.4f} {rng.choice(['Al', 'Ga', 'In', 'O'])}\n" for a, b, c in rng.normal(0, 3, (8, 3)))
        comp.files[f"{comp.part(i)}/{comp.ids[i]}/geometry.xyz"] = text.encode()
    return comp


@clean
def labels_of_train_in_a_second_file(seed, _):
    """Both parts are numbered from 0, and a second table has the answers of the training items."""
    comp = blank(seed, 800, 300, "binary")
    comp.ids = [str(i) for i in range(800)] + [str(i) for i in range(300)]
    columns = comp.features()
    comp.files["train.csv"] = to_csv(*comp.table(columns, comp.order_train, False))
    comp.files["test.csv"] = to_csv(*comp.table(columns, comp.order_test, False))
    comp.files["train_labels.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


@clean
def long_numbers_that_coincide(seed, _):
    """Ids are long numbers, and the same numbers are in both parts."""
    comp = blank(seed, 800, 300, "classes")
    comp.ids = [str(2_000_000 + 3 * i) for i in range(800)] + [str(2_000_000 + 3 * i) for i in range(300)]
    return with_tables(comp)


# ---- unusual ids and empty cells

@clean
def comments_as_ids(seed, _):
    """The id is a text in the second column; the first column is a date that one in five rows lacks."""
    comp = blank(seed, 1200, 500, "binary", key="comment")
    comp.ids = [f"{sentence(comp.rng, comp.level[i], 14)}, no {i}" for i in range(comp.n)]
    dates = [f"2012{comp.rng.integers(1, 13):02d}{comp.rng.integers(1, 29):02d}{comp.rng.integers(0, 24):02d}{comp.rng.integers(0, 60):02d}Z" if comp.rng.random() > 0.2 else "" for _ in range(comp.n)]
    comp.lead["date"] = dates
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        labels = part == "train"
        head = ["date", "comment"] + ([comp.label] if labels else [])
        comp.files[f"{part}.csv"] = to_csv(head, [[dates[i], comp.ids[i]] + ([comp.answers[i]] if labels else []) for i in order])
    return comp


@clean
def groups_before_the_id(seed, _):
    """The answers have a column of groups before the id."""
    comp = grouped(seed, 60, 30, "binary")
    comp.lead["ward"] = [f"w{comp.code[g] % 40}" for g in comp.group]
    return with_tables(comp, ward=lambda i: comp.lead["ward"][i])


@clean
def paths_as_ids(seed, _):
    comp = blank(seed, 700, 300, "classes")
    comp.ids = [f"img/{i % 7}/{v[:6]}.jpg" for i, v in enumerate(comp.ids)]
    return with_tables(comp)


@clean
def addresses_as_ids(seed, _):
    comp = blank(seed, 700, 300, "binary")
    comp.ids = [f"{comp.rng.choice(WORDS)}.{v[:5]}@{comp.rng.choice(['mail', 'post', 'web'])}.example" for v in comp.ids]
    return with_tables(comp)


@clean
def decimals_as_ids(seed, _):
    comp = blank(seed, 700, 300, "numbers")
    comp.ids = [f"{v:.5f}" for v in comp.rng.normal(0, 400, comp.n)]
    return with_tables(comp)


@clean
def sparse_columns(seed, _):
    """Most cells of some columns are empty, in both parts alike."""
    comp = blank(seed, 900, 400, "binary")
    some = lambda share, text: [text(i) if comp.rng.random() < share else "" for i in range(comp.n)]
    remark = some(0.05, lambda i: sentence(comp.rng, comp.level[i], 9))
    score = some(0.2, lambda i: f"{comp.rng.normal(comp.level[i]):.2f}")
    unit = some(0.1, lambda i: str(comp.rng.choice(["kg", "lb"])))
    return with_tables(comp, remark=lambda i: remark[i], score=lambda i: score[i], unit=lambda i: unit[i])


@clean
def blank_texts(seed, _):
    """A quarter of the texts consist of spaces."""
    comp = blank(seed, 800, 300, "binary")
    texts = [sentence(comp.rng, comp.level[i], 16) if comp.rng.random() > 0.25 else "   " for i in range(comp.n)]
    return with_tables(comp, text=lambda i: texts[i])


# ---- few items

def few(seed, n_test, task, columns, n_train=40):
    """Returns a competition with few items. Columns of random bits and numbers may agree with the answers by chance."""
    comp = blank(seed, n_train, n_test, task)
    rng = comp.rng
    cells = {f"v{k:02d}": [str(v) for v in (rng.integers(0, 2, comp.n) if k % 2 else np.round(rng.normal(50, 12, comp.n), 1))] for k in range(columns)}
    comp.add_tables(cells)
    return comp


@clean
def six_items(seed, _):
    return few(seed, 6, "binary", 120)


@clean
def nine_items_with_numbers(seed, _):
    return few(seed, 9, "numbers", 60)


@clean
def one_item(seed, _):
    return few(seed, 1, "binary", 8)


@clean
def thirty_items(seed, _):
    return few(seed, 30, "binary", 80)


@clean
def four_items_with_files(seed, _):
    """Each item has a JSON file of measurements. Some fields have the same value in every file."""
    comp = blank(seed, 12, 4, "classes")
    with_tables(comp)
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.json"] = dump({"unit": "mm", "kinds": ["ash", "birch", "cedar", "elm"], "values": [round(float(v), 2) for v in comp.rng.normal(comp.level[i], 1, 9)]})
    return comp


@clean
def twelve_items_of_one_class(seed, _):
    """Eleven of twelve test items have the same class."""
    comp = few(seed, 12, "binary", 20)
    set_answers(comp, [int(v) for v in comp.rng.integers(0, 2, 40)] + [0] * 11 + [1], "binary")
    columns = comp.columns
    comp.add_tables(columns)
    return comp


@clean
def few_outlines(seed, _):
    """Three test items have long answers: outlines. A public table contains other outlines, which are random."""
    comp = blank(seed, 12, 3, "binary")
    comp.answers = [" ".join(f"{a} {b}" for a, b in zip(np.cumsum(comp.rng.integers(2, 90, 40)), comp.rng.integers(1, 9, 40))) for _ in range(comp.n)]
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    comp.files["areas.csv"] = to_csv([comp.key, "area"], [[comp.ids[i], " ".join(str(v) for v in np.cumsum(comp.rng.integers(2, 90, 40)))] for i in range(comp.n)])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.png"] = png(picture(comp.rng, 0, 32))
    return comp


# ---- others

@clean
def templates_of_texts(seed, _):
    """All texts follow one template."""
    comp = blank(seed, 800, 300, "binary")
    text = lambda i: f"Dear customer, your order of {comp.rng.integers(1, 9)} {comp.rng.choice(WORDS)} and {comp.rng.choice(WORDS)} was sent on day {comp.rng.integers(1, 366)} by our partner in the north."
    return with_tables(comp, text=text)


@clean
def coarse_rows(seed, _):
    """Few columns with few values, so a large part of the test rows is also in train."""
    comp = blank(seed, 1500, 400, "binary")
    size = [str(v) for v in np.clip(np.round(2 + comp.level + comp.rng.normal(0, 1, comp.n)), 0, 5).astype(int)]
    comp.add_tables({"size": size, "colour": [["red", "green", "blue"][v] for v in comp.rng.integers(0, 3, comp.n)]})
    return comp


@clean
def hundred_species_in_places(seed, _):
    """Each place has five of a hundred species, and each place is in one part."""
    comp = grouped(seed, 60, 25, "binary", size=(10, 20))
    kinds = [f"sp{v:03d}" for v in range(100)]
    usual = comp.rng.integers(0, 100, (comp.group.max() + 1, 5))
    comp.answers = [kinds[usual[g][comp.rng.integers(0, 5)]] for g in comp.group]
    return with_tables(comp, place=lambda i: f"L{comp.code[comp.group[i]]}")


@clean
def spans_of_texts(seed, _):
    """The answer is a part of the text, and often the whole text."""
    comp = blank(seed, 900, 350, "binary")
    texts = [sentence(comp.rng, 0, int(comp.rng.integers(2, 12))) for _ in range(comp.n)]
    def part(text):
        words = text.split()
        return text if comp.rng.random() < 0.4 else " ".join(words[: max(1, len(words) // 2)])
    comp.answers = [part(text) for text in texts]
    comp.add_tables({"text": texts, "tone": [str(comp.rng.choice(["calm", "glad"])) for _ in texts]})
    return comp


@clean
def strong_pictures(seed, _):
    """The brightness of a picture predicts the answer well."""
    comp = blank(seed, 500, 250, "binary")
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.jpg"] = jpeg(picture(comp.rng, comp.level[i], 32, signal=90))
    return comp


# ---- competitions with random properties

def draw(seed):
    """Draws an honest competition: a kind of groups, ids, files, columns, sizes and answers."""
    rng = np.random.default_rng([seed, 0xD4A3])
    task = str(rng.choice(["binary", "classes", "numbers"]))
    style = int(rng.integers(0, 6))
    names = [
        None,
        lambda comp, g, p: f"{'abcdefgh'[seed % 8]}{comp.code[g]:03d}_{p:03d}",
        lambda comp, g, p: f"{comp.code[g]}-{p}",
        lambda comp, g, p: f"run{comp.code[g]:04d}frame{p}",
        lambda comp, g, p: f"{p:02d}.{comp.code[g]:03d}",
        lambda comp, g, p: str(10_000 + 100 * g + p),
    ]
    few_groups = rng.random() < 0.3
    groups = (int(rng.integers(15, 40)), int(rng.integers(6, 12))) if few_groups else (int(rng.integers(50, 150)), int(rng.integers(20, 70)))
    size = (15, 40) if few_groups else (2, int(rng.integers(6, 16)))
    comp = grouped(seed, *groups, task, name=names[style], drift=float(rng.choice([0, 0, 0.8])), noise=float(rng.choice([0, 2, 8])), mixed=float(rng.choice([0, 0.1, 0.3])), size=size, signal=float(rng.choice([0.3, 0.8, 2])))
    if rng.random() < 0.25:
        comp.lead["when"] = [f"2019-{1 + int(v) % 12:02d}" if v > 2 else "" for v in rng.integers(0, 12, comp.n)]
    more = {}
    if rng.random() < 0.5:
        group = str(rng.choice(["subject", "plot", "vessel"]))
        form = ["{}", "X{:04d}", "{:02d}-b"][int(rng.integers(0, 3))]
        more[group] = lambda i: form.format(int(comp.code[comp.group[i]]))
    if rng.random() < 0.4:
        gaps = rng.random(comp.n) < 0.4
        more["extra"] = lambda i: "" if gaps[i] else f"{rng.normal(comp.level[i]):.3f}"
    if rng.random() < 0.3:
        more["note"] = lambda i: sentence(rng, comp.level[i], 12)
    with_tables(comp, **more)
    media = int(rng.integers(0, 5))
    in_groups = rng.random() < 0.5
    for i in range(comp.n) if media < 4 else ():
        content, end = [
            lambda: (png(picture(rng, comp.level[i], 16), level=0), "png"),
            lambda: (jpeg(picture(rng, comp.level[i], 24)), "jpg"),
            lambda: (wav(tone(rng, comp.level[i], 400)), "wav"),
            lambda: (npy(rng.normal(comp.level[i] * 0.2, 1, 30)), "npy"),
        ][media]()
        middle = f"g{comp.code[comp.group[i]]}/" if in_groups else ""
        path = f"{comp.part(i)}/{middle}{comp.ids[i]}.{end}"
        comp.files[path] = content
        comp.times[path] = 1_577_836_800 + 3600 * int(comp.code[comp.group[i]]) + 5 * int(comp.position[i])
    if rng.random() < 0.3:
        comp.files["sites.csv"] = to_csv([comp.key, "site", "operator"], [[comp.ids[i], f"site{comp.code[comp.group[i]]}", str(rng.choice(["mk", "ho", "tr"]))] for i in range(comp.n)])
    if rng.random() < 0.3:
        order = rng.permutation(comp.n)
        comp.files["times.csv"] = to_csv([comp.key, "second"], [[comp.ids[i], str(int(comp.code[comp.group[i]]) * 10_000 + int(comp.position[i]))] for i in order])
    return comp


DRAWN = {f"drawn-{number:02d}": (lambda seed, _, number=number: draw(seed * 100 + number)) for number in range(20)}
