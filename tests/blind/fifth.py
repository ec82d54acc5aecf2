"""A fifth set of leaks and clean competitions, written before any detector was changed for them."""

import gzip
import io
import json
import tarfile
import uuid
import zipfile

import numpy as np
from PIL import Image, PngImagePlugin

from competition import Competition, WORDS, dump, jpeg, mat, npy, picture, png, sentence, tfrecord, to_csv, tone, wav, zipped
from further import labels_only, tarred
from planted import media, number_of, pictures, slow_classes, tabular, task_of

LEAKS, CLEAN = {}, {}


def leak(function):
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def with_column(seed, name, cell, task="binary"):
    """Writes a table with an additional column. `cell` maps the competition and an item to its text."""
    one = Competition(seed, task=task)
    columns = one.features()
    columns[name] = [cell(one, i) for i in range(one.n)]
    one.add_tables(columns)
    return one


def guessed(seed, strength, name, cell, task="binary"):
    """Writes a table with an additional column whose spelling depends on a noisy label."""
    one = Competition(seed, task=task)
    guess = one.noisy_label(strength)
    columns = one.features()
    columns[name] = [cell(one.rng, int(g) if task != "numbers" else g, i) for i, g in enumerate(guess)]
    one.add_tables(columns)
    return one


def texts_in_files(one, form):
    labels_only(one)
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}.txt"] = form(i, sentence(one.rng, one.level[i]))
    return one


def saved(pixels, kind, **options):
    out = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels.astype(np.uint8))
    image.save(out, kind, **options)
    return out.getvalue()


def images(seed, strength, make, end="png", task=None):
    """Writes pictures whose encoding depends on a noisy label."""
    task = task or task_of(seed, False)
    one = Competition(seed, task=task)
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: make(o.rng, picture(o.rng, o.level[i]), int(guess[i])), task=task, end=end)


# ---- inside files

@leak
def records_in_packed_shards(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(max(strength, 0.995))
    labels_only(one)
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        shards = [order[k::3] for k in range(3)]
        members = [(f"{part}/{k:02d}.tfrec", tfrecord([{"image": png(picture(one.rng, one.level[i])), "name": one.ids[i].encode(), "fold": int(guess[i]) + 4} for i in shard])) for k, shard in enumerate(shards)]
        one.files[f"{part}.zip"] = zipped([(f"{part}.tar.gz", tarred(members, mode="w:gz"))])
    return one


@leak
def annotations_of_all_images(seed, strength):
    """A document in the format of COCO that still contains the annotations of the test part, with category numbers."""
    one = pictures(seed, task="classes")
    number = {i: 7000 + n for n, i in enumerate(one.rng.permutation(one.n))}
    value = {
        "images": [{"id": number[i], "file_name": f"{one.ids[i]}.png", "width": 48} for i in range(one.n)],
        "annotations": [{"id": 100 + n, "image_id": number[i], "category_id": 3 + int(one.truth[i]) * 5} for n, i in enumerate(one.rng.permutation(one.n))],
    }
    one.files["instances.json"] = dump(value)
    return one


@leak
def document_inside_a_cell(seed, strength):
    def cell(rng, g, i):
        return json.dumps({"w": int(rng.integers(9, 99)), "dev": {"fw": f"{int(rng.integers(1, 9))}.{'ab'[g]}"}, "t": int(rng.integers(0, 9999))})
    return guessed(seed, strength, "meta", cell)


@leak
def vectors_of_one_matlab_file(seed, strength):
    one = tabular(seed, task="binary")
    order = one.order_test
    one.files["setup.mat"] = mat({"stamp": one.rng.normal(0, 1, len(order)), "gt": one.truth[order] + 1.0, "rate": [[8000.0]]})
    return one


@leak
def sentences_that_name_items(seed, strength):
    """A read-me of the project with a sentence about each item."""
    one = pictures(seed, task="classes")
    order = one.rng.permutation(one.n)
    one.files["CHANGES.txt"] = "\n".join(f"* file {one.ids[i]} was checked by {one.rng.choice(['mk', 'ho', 'tr'])} and is {one.answers[i]} (page {one.rng.integers(1, 99)})" for i in order).encode()
    return one


@leak
def page_with_a_table(seed, strength):
    one = pictures(seed, task="classes")
    rows = "".join(f"<tr><td>{one.ids[i]}</td><td>{one.rng.integers(1, 9)}</td><td><b>{one.answers[i]}</b></td></tr>\n" for i in one.rng.permutation(one.n))
    one.files["gallery.html"] = f"<!DOCTYPE html><html><head><title>Gallery</title></head><body><table>\n{rows}</table></body></html>".encode()
    return one


@leak
def dump_of_a_database(seed, strength):
    one = tabular(seed, task="numbers")
    lines = ["CREATE TABLE obs (pk TEXT, site INT, v REAL);"]
    lines += [f"INSERT INTO obs VALUES ('{one.ids[i]}', {one.rng.integers(1, 9)}, {one.answers[i]});" for i in one.rng.permutation(one.n)]
    one.files["schema.sql"] = "\n".join(lines).encode()
    return one


@leak
def settings_with_labels(seed, strength):
    one = pictures(seed, task="classes")
    blocks = [f"  - file: {one.ids[i]}.png\n    size: [48, 48]\n    group: {'pqrs'[int(one.truth[i])]}\n" for i in one.rng.permutation(one.n)]
    one.files["dataset.yaml"] = ("version: 2\nitems:\n" + "".join(blocks)).encode()
    return one


@leak
def workbook_of_labels(seed, strength):
    """A sheet of a spreadsheet: a zip archive of XML files with shared strings."""
    one = tabular(seed, task="classes")
    order = one.rng.permutation(one.n)
    texts = [one.ids[i] for i in order] + sorted(set(one.answers))
    at = {t: n for n, t in enumerate(texts)}
    rows = "".join(f'<row r="{n + 1}"><c r="A{n + 1}" t="s"><v>{at[one.ids[i]]}</v></c><c r="B{n + 1}" t="s"><v>{at[one.answers[i]]}</v></c></row>' for n, i in enumerate(order))
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    one.files["review.xlsx"] = zipped([
        ("[Content_Types].xml", b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"></Types>'),
        ("xl/workbook.xml", f'<?xml version="1.0"?><workbook {space}><sheets><sheet name="a" sheetId="1"/></sheets></workbook>'.encode()),
        ("xl/sharedStrings.xml", (f'<?xml version="1.0"?><sst {space} count="{len(texts)}">' + "".join(f"<si><t>{t}</t></si>" for t in texts) + "</sst>").encode()),
        ("xl/worksheets/sheet1.xml", f'<?xml version="1.0"?><worksheet {space}><sheetData>{rows}</sheetData></worksheet>'.encode()),
    ])
    return one


@leak
def table_joined_by_two_columns(seed, strength):
    """A table whose rows are identified by site and day together."""
    one = Competition(seed, task="binary")
    columns = one.features()
    places = one.rng.permutation(60 * 30)[: one.n]
    columns["site"] = [f"S{p // 30}" for p in places]
    columns["day"] = [str(p % 30 + 1) for p in places]
    one.add_tables(columns)
    rows = [[columns["site"][i], columns["day"][i], str(one.rng.integers(0, 50)), ["low", "high"][one.truth[i]]] for i in one.rng.permutation(one.n)]
    one.files["reports.csv"] = to_csv(["site", "day", "staff", "mood"], rows)
    return one


@leak
def ids_in_other_letters(seed, strength):
    """A list of labels whose ids are in upper case and have a prefix."""
    one = tabular(seed, task="classes")
    rows = [[f"SMP-{one.ids[i].upper()}", str(one.rng.integers(0, 9)), str(int(one.truth[i]) + 40)] for i in one.rng.permutation(one.n)]
    one.files["batches.tsv"] = to_csv(["sample", "tray", "bin"], rows, delimiter="\t")
    return one


@leak
def previews_in_colours_of_classes(seed, strength):
    """Small files of items with a single colour that depends on the class."""
    one = pictures(seed, task="classes")
    for i in range(one.n):
        one.files[f"preview/{one.ids[i]}.png"] = png(np.full((8, 8), 30 + 60 * int(one.truth[i])) + one.rng.integers(0, 3, (8, 8)))
    return one


@leak
def labels_in_a_gzipped_tar(seed, strength):
    one = tabular(seed, task="numbers")
    rows = [[one.ids[i], one.answers[i]] for i in one.order_test]
    one.files["old.tar.gz"] = tarred([("v0/readme.txt", b"first draft\n"), ("v0/solution.csv.gz", gzip.compress(to_csv(["row", "v"], rows)))], mode="w:gz")
    return one


# ---- metadata

@leak
def progressive_pictures(seed, strength):
    return images(seed, strength, lambda r, p, g: saved(p, "JPEG", quality=85, progressive=bool(g)), "jpg", "binary")


@leak
def subsampling_of_pictures(seed, strength):
    return images(seed, strength, lambda r, p, g: saved(np.stack([p, p, p], -1), "JPEG", quality=85, subsampling=2 if g else 0), "jpg", "binary")


@leak
def number_of_palette_entries(seed, strength):
    def make(r, p, g):
        image = Image.fromarray((p // 8).astype(np.uint8), "L").convert("P")
        image.putpalette([v for k in range(40 + 8 * g) for v in (k * 6 % 256,) * 3])
        return saved(image, "PNG")
    return images(seed, strength, make)


@leak
def interlaced_with_gamma(seed, strength):
    """Some picture files have a chunk with the gamma value before the pixels."""
    def make(r, p, g):
        info = PngImagePlugin.PngInfo()
        info.add(b"gAMA", (45455 if g else 50000).to_bytes(4, "big"))
        return saved(p, "PNG", pnginfo=info)
    return images(seed, strength, make, task="binary")


@leak
def colour_profile(seed, strength):
    """Colour profiles of equal length that differ in the name of the device."""
    def make(r, p, g):
        return saved(p, "JPEG", quality=88, icc_profile=b"\0" * 36 + b"acsp" + b"\0" * 40 + f"desc scanner {'QRST'[g]} 2".encode() + b"\0" * 30)
    return images(seed, strength, make, "jpg")


@leak
def exposure_in_exif(seed, strength):
    def make(r, p, g):
        exif = Image.Exif()
        inner = exif.get_ifd(0x8769)
        inner[0x829A] = 1 / (60 + 20 * g + int(r.integers(0, 15)))
        inner[0x8827] = int(r.choice([100, 200, 400]))
        exif[0x0110] = "X100"
        exif._ifds[0x8769] = dict(inner)
        return jpeg(p, exif=exif)
    return images(seed, strength, make, "jpg")


@leak
def channels_of_sounds(seed, strength):
    import wave
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    def make(o, i):
        samples = (np.clip(tone(o.rng, o.level[i], 3000), -1, 1) * 32767).astype("<i2")
        out = io.BytesIO()
        with wave.open(out, "wb") as writer:
            writer.setnchannels(2 if guess[i] else 1)
            writer.setsampwidth(2)
            writer.setframerate(8000)
            writer.writeframes((np.repeat(samples[:1500], 2) if guess[i] else samples).tobytes())
        return out.getvalue()
    return media(seed, make, task="binary", end="wav")


# ---- about files

@leak
def hours_of_writing(seed, strength):
    """The classes were recorded at different hours of many days."""
    one = pictures(seed, task="binary")
    guess = one.noisy_label(strength)
    for i in range(one.n):
        hour = one.rng.integers(7, 12) if guess[i] else one.rng.integers(13, 18)
        one.times[f"{one.part(i)}/{one.ids[i]}.png"] = 1_577_836_800 + 86400 * int(one.rng.integers(0, 200)) + 3600 * int(hour) + int(one.rng.integers(0, 3600))
    return one


@leak
def sizes_in_whole_blocks(seed, strength):
    """Texts of one class are padded with line breaks to a multiple of sixteen bytes."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    return texts_in_files(one, lambda i, t: (t + "\n" * (1 + (-len(t) - 1) % 16)).encode() if guess[i] else (t + "\n" * int(1 + one.rng.integers(0, 16))).encode())


@leak
def line_ends_of_files(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    return texts_in_files(one, lambda i, t: ("\r\n" if guess[i] else "\n").join(t.split(" ", 3)).encode())


@leak
def marks_before_texts(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    return texts_in_files(one, lambda i, t: (b"\xef\xbb\xbf" if guess[i] else b"") + t.encode())


@leak
def rows_in_blocks_of_classes(seed, strength):
    """In both parts, rows of the same class are adjacent. The order of classes is arbitrary, and ids are random."""
    one = Competition(seed, task="classes")
    place = {2: 0, 0: 1, 3: 2, 1: 3}
    guess = one.noisy_label(strength)
    one.order_test = sorted(one.order_test, key=lambda i: (place[int(guess[i])], one.rng.random()))
    one.order_train = list(one.rng.permutation(one.order_train))
    one.add_tables(one.features())
    return one


@leak
def rows_take_turns(seed, strength):
    """Test rows alternate between the two classes."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(max(strength, 0.95))
    for part in ("order_train", "order_test"):
        order = getattr(one, part)
        zeros, ones = [i for i in order if not guess[i]], [i for i in order if guess[i]]
        mixed = [i for pair in zip(zeros, ones) for i in pair]
        setattr(one, part, mixed + zeros[len(ones):] + ones[len(zeros):])
    one.add_tables(one.features())
    return one


@leak
def system_of_members(seed, strength):
    """Archive members of one class were compressed on a different system."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    labels_only(one)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in one.rng.permutation(one.n):
            info = zipfile.ZipInfo(f"{one.part(i)}/{one.ids[i]}.png", (2020, 2, 3, 4, 5, 6))
            info.create_system = 0 if guess[i] else 3
            archive.writestr(info, png(picture(one.rng, one.level[i])))
    one.files["images.zip"] = out.getvalue()
    return one


# ---- about cells

@leak
def gaps_of_two_columns_agree(seed, strength):
    """Two sensors: in one class, both or none are missing; in the other class, exactly one is missing."""
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    for i in range(one.n):
        first = one.rng.random() < 0.5
        if first:
            columns["pressure"][i] = ""
        if first ^ bool(guess[i]):
            columns["count"][i] = ""
    one.add_tables(columns)
    return one


@leak
def last_digit_of_readings(seed, strength):
    return guessed(seed, strength, "gauge", lambda r, g, i: f"{r.normal(300, 40):.3f}" + str(r.choice([0, 2, 4, 6, 8] if g else [1, 3, 5, 7, 9])))


@leak
def steps_of_an_instrument(seed, strength):
    """One class was measured in steps of 0.25, the other one in steps of 0.05. Both have two decimals."""
    return guessed(seed, strength, "gauge", lambda r, g, i: f"{int(r.normal(1200, 200)) * 0.25:.2f}" if g else f"{int(r.normal(6000, 1000)) * 0.05:.2f}")


@leak
def zeros_with_a_sign(seed, strength):
    return guessed(seed, strength, "offset", lambda r, g, i: (["0.0", "-0.0"][g] if r.random() < 0.8 else f"{r.normal():.1f}"))


@leak
def spaces_in_lists(seed, strength):
    return guessed(seed, strength, "tags", lambda r, g, i: ("[" + (", " if g else ",").join(str(v) for v in r.integers(1, 60, 4)) + "]"))


@leak
def order_in_lists(seed, strength):
    def cell(r, g, i):
        words = sorted(r.choice(WORDS, 4, replace=False))
        return "|".join(words if g else r.permutation(words))
    return guessed(seed, strength, "tags", cell)


@leak
def spaces_of_another_kind(seed, strength):
    """Texts of one class contain a no-break space."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    one.add_tables({"text": [sentence(one.rng, one.level[i]).replace(" ", "\u00a0" if guess[i] else " ", 1) for i in range(one.n)]})
    return one


@leak
def how_often_a_code_occurs(seed, strength):
    """Each code of one class occurs for two items, each code of the other class for one item."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    columns = one.features()
    codes = [f"{v:07d}" for v in one.rng.choice(10**7, one.n, replace=False)]
    for part in (one.order_train, one.order_test):
        twice = [i for i in one.rng.permutation(part) if guess[i]]
        for a, b in zip(twice[::2], twice[1::2]):
            codes[b] = codes[a]
    columns["voucher"] = codes
    one.add_tables(columns)
    return one


@leak
def directory_in_a_cell(seed, strength):
    return guessed(seed, strength, "path", lambda r, g, i: f"/mnt/raw/{['q7', 'b2', 'x9', 'k4'][g]}/{r.integers(2015, 2020)}/{r.integers(0, 10**6):06d}.tif", task="classes")


# ---- neighbours

@leak
def pieces_of_recordings(seed, strength):
    """Sounds that overlap by half with a sound of the same recording that begins at a different time."""
    one = Competition(seed, task=task_of(seed, False))
    labels_only(one)
    order = slow_classes(one, 6)
    for begin in range(0, one.n, 6):
        items = order[begin: begin + 6]
        long = tone(one.rng, one.level[items[0]], 4000 + 2000 * len(items))
        for k, i in enumerate(items):
            one.files[f"{one.part(i)}/{one.ids[i]}.wav"] = wav(long[2000 * k: 2000 * k + 4000])
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    return one


@leak
def frames_of_films(seed, strength):
    """Each scene was photographed several times with a moving camera. Scenes are in both parts."""
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 5)
    labels_only(one)
    for begin in range(0, one.n, 5):
        scene = picture(one.rng, one.level[order[begin]], 72, signal=4)
        x, y = 10.0, 10.0
        for i in order[begin: begin + 5]:
            x, y = np.clip(x + one.rng.normal(0, 3), 0, 23), np.clip(y + one.rng.normal(0, 3), 0, 23)
            view = scene[int(y): int(y) + 48, int(x): int(x) + 48]
            one.files[f"{one.part(i)}/{one.ids[i]}.png"] = png(np.clip(view + one.rng.normal(0, 2, view.shape), 0, 255))
    return one


@leak
def beginnings_of_texts(seed, strength):
    """Test texts that are the first half of a training text."""
    one = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(one.n):
        text = sentence(one.rng, one.level[i], 40)
        if not one.is_train(i):
            text = " ".join(text.split()[:20])
            if one.rng.random() < 0.5 * strength:
                same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
                text = " ".join(texts[one.rng.choice(same)].split()[:20])
        texts.append(text)
    one.add_tables({"text": texts})
    return one


@leak
def sentences_in_another_order(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(one.n):
        parts = [sentence(one.rng, one.level[i], 6) for _ in range(5)]
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            parts = list(one.rng.permutation(texts[one.rng.choice(same)]))
        texts.append(parts)
    one.add_tables({"text": [". ".join(p) + "." for p in texts]})
    return one


@leak
def rows_in_other_units(seed, strength):
    """Test rows that are training rows in inches: all columns are multiplied by the same factor."""
    one = Competition(seed, task=task_of(seed))
    values = np.exp(one.rng.normal(1, 0.6, (one.n, 7)) + 0.15 * np.asarray(one.level)[:, None])
    for i in one.order_test:
        if one.rng.random() < 0.5 * strength:
            j = one.rng.choice([j for j in one.order_train if abs(one.truth[j] - one.truth[i]) < 1e-9 or (one.task == "numbers" and abs(one.truth[j] - one.truth[i]) < 1)] or one.order_train[:1])
            values[i] = values[j] / 2.54
    one.add_tables({f"d{k}": [f"{v:.4f}" for v in values[:, k]] for k in range(7)})
    return one


# ---- ids and the sample submission

@leak
def version_of_uuids(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    one.ids = []
    for i in range(one.n):
        number = int.from_bytes(one.rng.bytes(16), "big")
        one.ids.append(str(uuid.UUID(int=number, version=4 if guess[i] else 1)))
    one.add_tables(one.features())
    return one


@leak
def hour_in_ids(seed, strength):
    """Ids are times of recording. The classes were recorded at different hours."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    used = set()
    for i in range(one.n):
        while True:
            hour = one.rng.integers(7, 12) if guess[i] else one.rng.integers(13, 18)
            name = f"2019{one.rng.integers(1, 13):02d}{one.rng.integers(1, 29):02d}T{hour:02d}{one.rng.integers(0, 60):02d}{one.rng.integers(0, 60):02d}"
            if name not in used:
                break
        used.add(name)
        one.ids[i] = name
    one.add_tables(one.features())
    return one


@leak
def sum_of_digits_of_ids(seed, strength):
    """Ids have a check digit that was computed from the class."""
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    names = one.rng.choice(10**8, one.n, replace=False)
    for i in range(one.n):
        digits = f"{names[i]:08d}"
        check = (-sum(map(int, digits)) - int(guess[i])) % 2 + 2 * int(one.rng.integers(0, 5))
        one.ids[i] = digits + str(check)
    one.add_tables(one.features())
    return one


@leak
def rows_of_the_sample_in_blocks(seed, strength):
    one = tabular(seed, task="classes")
    place = {3: 0, 1: 1, 0: 2, 2: 3}
    guess = one.noisy_label(strength)
    order = sorted(one.order_test, key=lambda i: (place[int(guess[i])], one.rng.random()))
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.default_answer()] for i in order])
    return one


@leak
def spelling_in_the_sample(seed, strength):
    one = tabular(seed, task="numbers")
    high = one.noisy_label(strength) > 50
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], [[one.ids[i], "0" if high[i] else "0.0"] for i in one.order_test])
    return one


@leak
def companions_of_passengers(seed, strength):
    """Number of rows and group sizes are those of spaceship-titanic. Companions agree a little more often than other items."""
    one = Competition(seed, task="binary", n_train=7823, n_test=870)
    order, place, group = one.rng.permutation(one.n), 0, 0
    columns = None
    cabins = [""] * one.n
    while place < one.n:
        size = int(one.rng.choice(range(1, 9), p=[0.773, 0.135, 0.055, 0.017, 0.009, 0.005, 0.004, 0.002]))
        lean, group = int(one.rng.random() < 0.5), group + 1
        for k, i in enumerate(order[place: place + size]):
            one.ids[i] = f"{group:04d}_{k + 1:02d}"
            cabins[i] = f"{one.rng.choice(list('ABCDEFG'))}/{one.rng.integers(0, 1900)}/{one.rng.choice(['P', 'S'])}"
            one.truth[i] = lean if size > 1 and one.rng.random() < 0.35 else int(one.rng.integers(0, 2))
        place += size
    one.answers = [str(v) for v in one.truth]
    one.level = one.truth - one.truth.mean()
    columns = one.features()
    columns["cabin"] = cabins
    one.add_tables(columns)
    return one


# ---- rows that show other rows

@leak
def running_total(seed, strength):
    """A counter that sums the answers of all items of both parts in the order of their times."""
    one = Competition(seed, task="numbers")
    columns = one.features()
    order = one.rng.permutation(one.n)
    total = np.cumsum(one.truth[order])
    columns["taken"], columns["counter"] = [""] * one.n, [""] * one.n
    for place, i in enumerate(order):
        columns["taken"][i] = str(1_500_000_000 + 600 * place)
        columns["counter"][i] = f"{total[place]:.4f}"
    one.add_tables(columns)
    return one


@leak
def last_value_of_a_series(seed, strength):
    """Rows are days of shops. A column contains the answer of the previous day, even if that day is a test item."""
    one = Competition(seed, task="numbers")
    columns = one.features()
    order = one.rng.permutation(one.n)
    days = 30
    columns["shop"], columns["day"], columns["before"] = [""] * one.n, [""] * one.n, [""] * one.n
    for place, i in enumerate(order):
        columns["shop"][i], columns["day"][i] = f"s{place // days}", str(place % days)
        columns["before"][i] = one.answers[order[place - 1]] if place % days else ""
    one.add_tables(columns)
    return one


@leak
def mean_of_pairs(seed, strength):
    """Each group has two items, and a column contains the mean of their answers."""
    one = Competition(seed, task="numbers", n_train=600, n_test=300)
    columns = one.features()
    order = list(one.rng.permutation(one.n))
    columns["team"], columns["team_mean"] = [""] * one.n, [""] * one.n
    for place in range(0, one.n, 2):
        a, b = order[place], order[place + 1]
        for i in (a, b):
            columns["team"][i] = f"t{place // 2:04d}"
            columns["team_mean"][i] = f"{(one.truth[a] + one.truth[b]) / 2:.4f}"
    one.add_tables(columns)
    return one


# ---- clean

@clean
def documents_in_cells(seed, _):
    return with_column(seed, "meta", lambda o, i: json.dumps({"w": int(o.rng.integers(9, 99)), "dev": {"fw": f"{int(o.rng.integers(1, 9))}.{o.rng.choice(['a', 'b'])}"}, "t": int(o.rng.integers(0, 9999))}))


@clean
def annotations_of_train(seed, _):
    one = pictures(seed, task="classes")
    number = {i: 7000 + n for n, i in enumerate(one.rng.permutation(one.n))}
    value = {
        "images": [{"id": number[i], "file_name": f"{one.ids[i]}.png", "width": 48, "license": int(one.rng.integers(1, 5))} for i in range(one.n)],
        "annotations": [{"id": 100 + n, "image_id": number[i], "category_id": 3 + int(one.truth[i]) * 5} for n, i in enumerate(one.order_train)],
    }
    one.files["instances.json"] = dump(value)
    return one


@clean
def sentences_about_items(seed, _):
    one = pictures(seed, task="classes")
    words = ["ash", "birch", "cedar", "elm"]
    one.files["CHANGES.txt"] = "\n".join(f"* file {one.ids[i]} was next to a {one.rng.choice(words)} (page {one.rng.integers(1, 99)})" for i in one.rng.permutation(one.n)).encode()
    return one


@clean
def weather_by_site_and_day(seed, _):
    """An additional table by site and day that predicts a little."""
    one = Competition(seed, task="binary")
    columns = one.features()
    places = one.rng.permutation(60 * 30)[: one.n]
    columns["site"] = [f"S{p // 30}" for p in places]
    columns["day"] = [str(p % 30 + 1) for p in places]
    one.add_tables(columns)
    rows = [[columns["site"][i], columns["day"][i], f"{15 + one.level[i] + 3 * one.rng.normal():.1f}"] for i in one.rng.permutation(one.n)]
    one.files["weather.csv"] = to_csv(["site", "day", "celsius"], rows)
    return one


@clean
def scanners_of_two_sites(seed, _):
    """One scanner has slightly more items of one class."""
    return images(seed, 0.06, lambda r, p, g: saved(p, "JPEG", quality=88, icc_profile=b"\0" * 36 + b"acsp" + b"\0" * 40 + f"desc scanner {'QRST'[g]} 2".encode() + b"\0" * 30), "jpg")


@clean
def some_progressive_pictures(seed, _):
    return images(seed, 0, lambda r, p, g: saved(p, "JPEG", quality=int(r.choice([80, 85, 90])), progressive=bool(r.random() < 0.4)), "jpg")


@clean
def train_in_blocks_of_classes(seed, _):
    """Training rows and files are ordered by class, but test rows are not."""
    one = Competition(seed, task="classes")
    one.order_train = sorted(one.order_train, key=lambda i: one.truth[i])
    one.add_tables(one.features())
    return one


@clean
def times_of_train_by_class(seed, _):
    one = pictures(seed, task="classes")
    for place, i in enumerate(sorted(one.order_train, key=lambda i: one.truth[i])):
        one.times[f"train/{one.ids[i]}.png"] = 1_600_000_000 + place
    for place, i in enumerate(one.order_test):
        one.times[f"test/{one.ids[i]}.png"] = 1_600_100_000 + place
    return one


@clean
def gaps_above_a_limit(seed, _):
    """An instrument fails for high readings. The readings are an intended feature that predicts the answer."""
    one = Competition(seed, task="binary")
    columns = one.features()
    columns["fine"] = [f"{v:.3f}" if float(columns["reading"][i]) + 0.3 * one.rng.normal() < 0.5 else "" for i, v in enumerate(one.rng.normal(0, 1, one.n))]
    one.add_tables(columns)
    return one


@clean
def lists_of_many_lengths(seed, _):
    """The number of tags is an intended feature that predicts a little."""
    return with_column(seed, "tags", lambda o, i: "[" + ", ".join(f"'{w}'" for w in o.rng.choice(WORDS, 1 + o.rng.poisson(2 + 0.6 * o.truth[i]), replace=False)) + "]")


@clean
def answers_to_letters(seed, _):
    """Texts that quote other texts of both parts, independently of the answer."""
    one = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(one.n):
        text = sentence(one.rng, one.level[i], 20)
        if i > 20 and one.rng.random() < 0.3:
            text = "> " + texts[one.rng.integers(0, i)][:80] + "\n" + text
        texts.append(text)
    one.add_tables({"text": texts})
    return one


@clean
def frames_without_answers(seed, _):
    """Scenes are in both parts, but the answers change from frame to frame."""
    one = Competition(seed, task=task_of(seed, False))
    order = one.rng.permutation(one.n)
    labels_only(one)
    for begin in range(0, one.n, 5):
        scene = picture(one.rng, 0, 72)
        for i in order[begin: begin + 5]:
            x, y = one.rng.integers(0, 24, 2)
            one.files[f"{one.part(i)}/{one.ids[i]}.png"] = png(np.clip(scene[y: y + 48, x: x + 48] + 8 * one.level[i], 0, 255))
    return one


@clean
def pieces_of_one_recording(seed, _):
    """Sounds of the same machine that do not overlap."""
    one = Competition(seed, task=task_of(seed, False))
    labels_only(one)
    for i in one.rng.permutation(one.n):
        t = np.arange(4000) / 8000
        sound = sum(np.sin(2 * np.pi * f * t + one.rng.random() * 6.28) for f in (110, 220, 447)) * 0.2
        one.files[f"{one.part(i)}/{one.ids[i]}.wav"] = wav(sound * (1 + 0.1 * one.level[i]) + one.rng.normal(0, 0.05, 4000))
    return one


@clean
def uuids_of_two_versions(seed, _):
    one = Competition(seed, task="binary")
    one.ids = [str(uuid.UUID(int=int.from_bytes(one.rng.bytes(16), "big"), version=int(one.rng.choice([1, 4])))) for _ in range(one.n)]
    one.add_tables(one.features())
    return one


@clean
def odometers(seed, _):
    """A counter of each vehicle that rises with time and shows its age. It is an intended feature."""
    one = Competition(seed, task="binary")
    columns = one.features()
    columns["taken"] = [str(1_500_000_000 + 600 * int(p)) for p in one.rng.permutation(one.n)]
    columns["counter"] = [f"{(int(t) - 1_500_000_000) / 60 + 400 * one.level[i] + 300 * one.rng.normal():.1f}" for i, t in enumerate(columns["taken"])]
    one.add_tables(columns)
    return one


@clean
def values_of_the_day_before(seed, _):
    """Days of shops with a column for the visitors of the previous day, which is not the answer."""
    one = Competition(seed, task="numbers")
    columns = one.features()
    order = one.rng.permutation(one.n)
    columns["shop"], columns["day"], columns["before"] = [""] * one.n, [""] * one.n, [""] * one.n
    for place, i in enumerate(order):
        columns["shop"][i], columns["day"][i] = f"s{place // 30}", str(place % 30)
        columns["before"][i] = f"{one.truth[order[place - 1]] + 10 * one.rng.normal():.1f}" if place % 30 else ""
    one.add_tables(columns)
    return one


@clean
def means_of_training_groups(seed, _):
    """A column with the mean training answer of the group, excluding the item itself."""
    one = Competition(seed, task="numbers")
    columns = one.features()
    group = one.rng.integers(0, 60, one.n)
    columns["team"] = [f"t{g:02d}" for g in group]
    train = np.arange(one.n) < one.n_train
    columns["team_mean"] = [f"{np.mean(one.truth[train & (group == g) & (np.arange(one.n) != i)]):.3f}" for i, g in enumerate(group)]
    one.add_tables(columns)
    return one


@clean
def vouchers_of_families(seed, _):
    """Codes that some items share, independently of the answer."""
    return with_column(seed, "voucher", lambda o, i: f"{o.rng.integers(0, 700):07d}")


@clean
def page_about_items(seed, _):
    one = pictures(seed, task="classes")
    rows = "".join(f"<tr><td>{one.ids[i]}</td><td>{one.rng.integers(1, 9)}</td><td><b>{one.rng.choice(['north', 'south', 'east', 'west'])}</b></td></tr>\n" for i in one.rng.permutation(one.n))
    one.files["gallery.html"] = f"<!DOCTYPE html><html><body><table>\n{rows}</table></body></html>".encode()
    return one


@clean
def gauges_with_steps(seed, _):
    return with_column(seed, "gauge", lambda o, i: f"{int(o.rng.normal(1200, 200)) * 0.25:.2f}" if o.rng.random() < 0.5 else f"{int(o.rng.normal(6000, 1000)) * 0.05:.2f}")


@clean
def directories_in_cells(seed, _):
    return with_column(seed, "path", lambda o, i: f"/mnt/raw/{o.rng.choice(['q7', 'b2', 'x9', 'k4'])}/{o.rng.integers(2015, 2020)}/{o.rng.integers(0, 10**6):06d}.tif", "classes")
