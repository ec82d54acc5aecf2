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
    """Registers a function that makes a competition with a leak."""
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    """Registers a function that makes a competition without a leak."""
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def with_column(seed, name, cell, task="binary"):
    """Writes a table with an additional column. `cell` maps the competition and an item to the text of a cell."""
    comp = Competition(seed, task=task)
    columns = comp.features()
    columns[name] = [cell(comp, i) for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


def guessed(seed, strength, name, cell, task="binary"):
    """Writes a table with an additional column. The text of its cells depends on a noisy label.

    `cell` returns the text of a cell. Its arguments are the random generator, the noisy label, and the number of the row.
    """
    comp = Competition(seed, task=task)
    guess = comp.noisy_label(strength)
    columns = comp.features()
    columns[name] = [cell(comp.rng, int(g) if task != "numbers" else g, i) for i, g in enumerate(guess)]
    comp.add_tables(columns)
    return comp


def texts_in_files(comp, form):
    """Writes a text file for each item. `form` maps an item and its text to the content of the file."""
    labels_only(comp)
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.txt"] = form(i, sentence(comp.rng, comp.level[i]))
    return comp


def saved(pixels, kind, **options):
    """Returns an image file in the format `kind`."""
    out = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels.astype(np.uint8))
    image.save(out, kind, **options)
    return out.getvalue()


def images(seed, strength, make, end="png", task=None):
    """Writes pictures whose encoding depends on a noisy label."""
    task = task or task_of(seed, False)
    comp = Competition(seed, task=task)
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: make(comp.rng, picture(comp.rng, comp.level[i]), int(guess[i])), task=task, end=end)


# ---- inside files

@leak
def records_in_packed_shards(seed, strength):
    """The records are in a tar.gz archive inside a zip archive. One of their features is the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(max(strength, 0.995))
    labels_only(comp)
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        shards = [order[k::3] for k in range(3)]
        members = [(f"{part}/{k:02d}.tfrec", tfrecord([{"image": png(picture(comp.rng, comp.level[i])), "name": comp.ids[i].encode(), "fold": int(guess[i]) + 4} for i in shard])) for k, shard in enumerate(shards)]
        comp.files[f"{part}.zip"] = zipped([(f"{part}.tar.gz", tarred(members, mode="w:gz"))])
    return comp


@leak
def annotations_of_all_images(seed, strength):
    """A document in the format of COCO also annotates the test images, with category numbers."""
    comp = pictures(seed, task="classes")
    number = {i: 7000 + n for n, i in enumerate(comp.rng.permutation(comp.n))}
    value = {
        "images": [{"id": number[i], "file_name": f"{comp.ids[i]}.png", "width": 48} for i in range(comp.n)],
        "annotations": [{"id": 100 + n, "image_id": number[i], "category_id": 3 + int(comp.truth[i]) * 5} for n, i in enumerate(comp.rng.permutation(comp.n))],
    }
    comp.files["instances.json"] = dump(value)
    return comp


@leak
def document_inside_a_cell(seed, strength):
    """A field of the JSON object in a cell depends on the class."""
    def cell(rng, g, i):
        return json.dumps({"w": int(rng.integers(9, 99)), "dev": {"fw": f"{int(rng.integers(1, 9))}.{'ab'[g]}"}, "t": int(rng.integers(0, 9999))})
    return guessed(seed, strength, "meta", cell)


@leak
def vectors_of_one_matlab_file(seed, strength):
    """A MATLAB file has a vector of the test answers, in the order of the test rows."""
    comp = tabular(seed, task="binary")
    order = comp.order_test
    comp.files["setup.mat"] = mat({"stamp": comp.rng.normal(0, 1, len(order)), "gt": comp.truth[order] + 1.0, "rate": [[8000.0]]})
    return comp


@leak
def sentences_that_name_items(seed, strength):
    """A text file has a sentence about each item, which names the class."""
    comp = pictures(seed, task="classes")
    order = comp.rng.permutation(comp.n)
    comp.files["CHANGES.txt"] = "\n".join(f"* file {comp.ids[i]} was checked by {comp.rng.choice(['mk', 'ho', 'tr'])} and is {comp.answers[i]} (page {comp.rng.integers(1, 99)})" for i in order).encode()
    return comp


@leak
def page_with_a_table(seed, strength):
    """An HTML page has a table of items and answers."""
    comp = pictures(seed, task="classes")
    rows = "".join(f"<tr><td>{comp.ids[i]}</td><td>{comp.rng.integers(1, 9)}</td><td><b>{comp.answers[i]}</b></td></tr>\n" for i in comp.rng.permutation(comp.n))
    comp.files["gallery.html"] = f"<!DOCTYPE html><html><head><title>Gallery</title></head><body><table>\n{rows}</table></body></html>".encode()
    return comp


@leak
def dump_of_a_database(seed, strength):
    """An SQL script inserts items and answers."""
    comp = tabular(seed, task="numbers")
    lines = ["CREATE TABLE obs (pk TEXT, site INT, v REAL);"]
    lines += [f"INSERT INTO obs VALUES ('{comp.ids[i]}', {comp.rng.integers(1, 9)}, {comp.answers[i]});" for i in comp.rng.permutation(comp.n)]
    comp.files["schema.sql"] = "\n".join(lines).encode()
    return comp


@leak
def settings_with_labels(seed, strength):
    """A YAML file lists the items with a letter for the class."""
    comp = pictures(seed, task="classes")
    blocks = [f"  - file: {comp.ids[i]}.png\n    size: [48, 48]\n    group: {'pqrs'[int(comp.truth[i])]}\n" for i in comp.rng.permutation(comp.n)]
    comp.files["dataset.yaml"] = ("version: 2\nitems:\n" + "".join(blocks)).encode()
    return comp


@leak
def workbook_of_labels(seed, strength):
    """A spreadsheet contains items and answers. It is a zip archive of XML files with shared strings."""
    comp = tabular(seed, task="classes")
    order = comp.rng.permutation(comp.n)
    texts = [comp.ids[i] for i in order] + sorted(set(comp.answers))
    at = {t: n for n, t in enumerate(texts)}
    rows = "".join(f'<row r="{n + 1}"><c r="A{n + 1}" t="s"><v>{at[comp.ids[i]]}</v></c><c r="B{n + 1}" t="s"><v>{at[comp.answers[i]]}</v></c></row>' for n, i in enumerate(order))
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    comp.files["review.xlsx"] = zipped([
        ("[Content_Types].xml", b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"></Types>'),
        ("xl/workbook.xml", f'<?xml version="1.0"?><workbook {space}><sheets><sheet name="a" sheetId="1"/></sheets></workbook>'.encode()),
        ("xl/sharedStrings.xml", (f'<?xml version="1.0"?><sst {space} count="{len(texts)}">' + "".join(f"<si><t>{t}</t></si>" for t in texts) + "</sst>").encode()),
        ("xl/worksheets/sheet1.xml", f'<?xml version="1.0"?><worksheet {space}><sheetData>{rows}</sheetData></worksheet>'.encode()),
    ])
    return comp


@leak
def table_joined_by_two_columns(seed, strength):
    """Another table has the answers. Its key is site and day together."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    places = comp.rng.permutation(60 * 30)[: comp.n]
    columns["site"] = [f"S{p // 30}" for p in places]
    columns["day"] = [str(p % 30 + 1) for p in places]
    comp.add_tables(columns)
    rows = [[columns["site"][i], columns["day"][i], str(comp.rng.integers(0, 50)), ["low", "high"][comp.truth[i]]] for i in comp.rng.permutation(comp.n)]
    comp.files["reports.csv"] = to_csv(["site", "day", "staff", "mood"], rows)
    return comp


@leak
def ids_in_other_letters(seed, strength):
    """A table has the answers. Its ids are in upper case and have a prefix."""
    comp = tabular(seed, task="classes")
    rows = [[f"SMP-{comp.ids[i].upper()}", str(comp.rng.integers(0, 9)), str(int(comp.truth[i]) + 40)] for i in comp.rng.permutation(comp.n)]
    comp.files["batches.tsv"] = to_csv(["sample", "tray", "bin"], rows, delimiter="\t")
    return comp


@leak
def previews_in_colours_of_classes(seed, strength):
    """Each item has a small preview in a single colour. The colour depends on the class."""
    comp = pictures(seed, task="classes")
    for i in range(comp.n):
        comp.files[f"preview/{comp.ids[i]}.png"] = png(np.full((8, 8), 30 + 60 * int(comp.truth[i])) + comp.rng.integers(0, 3, (8, 8)))
    return comp


@leak
def labels_in_a_gzipped_tar(seed, strength):
    """A compressed table of answers is in a tar.gz archive."""
    comp = tabular(seed, task="numbers")
    rows = [[comp.ids[i], comp.answers[i]] for i in comp.order_test]
    comp.files["old.tar.gz"] = tarred([("v0/readme.txt", b"first draft\n"), ("v0/solution.csv.gz", gzip.compress(to_csv(["row", "v"], rows)))], mode="w:gz")
    return comp


# ---- metadata

@leak
def progressive_pictures(seed, strength):
    """The JPEG files of one class are progressive."""
    return images(seed, strength, lambda rng, p, g: saved(p, "JPEG", quality=85, progressive=bool(g)), "jpg", "binary")


@leak
def subsampling_of_pictures(seed, strength):
    """The colour subsampling of a JPEG file depends on the class."""
    return images(seed, strength, lambda rng, p, g: saved(np.stack([p, p, p], -1), "JPEG", quality=85, subsampling=2 if g else 0), "jpg", "binary")


@leak
def number_of_palette_entries(seed, strength):
    """The number of colours in the palette of a picture depends on the class."""
    def make(rng, p, g):
        image = Image.fromarray((p // 8).astype(np.uint8), "L").convert("P")
        image.putpalette([v for k in range(40 + 8 * g) for v in (k * 6 % 256,) * 3])
        return saved(image, "PNG")
    return images(seed, strength, make)


@leak
def interlaced_with_gamma(seed, strength):
    """The gamma value in the header of a PNG file depends on the class."""
    def make(rng, p, g):
        info = PngImagePlugin.PngInfo()
        info.add(b"gAMA", (45455 if g else 50000).to_bytes(4, "big"))
        return saved(p, "PNG", pnginfo=info)
    return images(seed, strength, make, task="binary")


@leak
def colour_profile(seed, strength):
    """The name of the device in a colour profile depends on the class. All profiles have the same length."""
    def make(rng, p, g):
        return saved(p, "JPEG", quality=88, icc_profile=b"\0" * 36 + b"acsp" + b"\0" * 40 + f"desc scanner {'QRST'[g]} 2".encode() + b"\0" * 30)
    return images(seed, strength, make, "jpg")


@leak
def exposure_in_exif(seed, strength):
    """The exposure time in the EXIF data depends on the class."""
    def make(rng, p, g):
        exif = Image.Exif()
        inner = exif.get_ifd(0x8769)
        inner[0x829A] = 1 / (60 + 20 * g + int(rng.integers(0, 15)))
        inner[0x8827] = int(rng.choice([100, 200, 400]))
        exif[0x0110] = "X100"  # Model
        exif._ifds[0x8769] = dict(inner)
        return jpeg(p, exif=exif)
    return images(seed, strength, make, "jpg")


@leak
def channels_of_sounds(seed, strength):
    """The sounds of one class have two channels."""
    import wave
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    def make(comp, i):
        samples = (np.clip(tone(comp.rng, comp.level[i], 3000), -1, 1) * 32767).astype("<i2")
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
    comp = pictures(seed, task="binary")
    guess = comp.noisy_label(strength)
    for i in range(comp.n):
        hour = comp.rng.integers(7, 12) if guess[i] else comp.rng.integers(13, 18)
        comp.times[f"{comp.part(i)}/{comp.ids[i]}.png"] = 1_577_836_800 + 86400 * int(comp.rng.integers(0, 200)) + 3600 * int(hour) + int(comp.rng.integers(0, 3600))
    return comp


@leak
def sizes_in_whole_blocks(seed, strength):
    """Texts of one class are padded with line breaks to a multiple of sixteen bytes."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    return texts_in_files(comp, lambda i, t: (t + "\n" * (1 + (-len(t) - 1) % 16)).encode() if guess[i] else (t + "\n" * int(1 + comp.rng.integers(0, 16))).encode())


@leak
def line_ends_of_files(seed, strength):
    """The texts of one class have CR LF line endings."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    return texts_in_files(comp, lambda i, t: ("\r\n" if guess[i] else "\n").join(t.split(" ", 3)).encode())


@leak
def marks_before_texts(seed, strength):
    """The texts of one class begin with a byte order mark."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    return texts_in_files(comp, lambda i, t: (b"\xef\xbb\xbf" if guess[i] else b"") + t.encode())


@leak
def rows_in_blocks_of_classes(seed, strength):
    """Test rows of the same class are adjacent. The order of classes is arbitrary, and ids are random."""
    comp = Competition(seed, task="classes")
    place = {2: 0, 0: 1, 3: 2, 1: 3}
    guess = comp.noisy_label(strength)
    comp.order_test = sorted(comp.order_test, key=lambda i: (place[int(guess[i])], comp.rng.random()))
    comp.order_train = list(comp.rng.permutation(comp.order_train))
    comp.add_tables(comp.features())
    return comp


@leak
def rows_take_turns(seed, strength):
    """In both parts, rows alternate between the two classes."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(max(strength, 0.95))
    for part in ("order_train", "order_test"):
        order = getattr(comp, part)
        zeros, ones = [i for i in order if not guess[i]], [i for i in order if guess[i]]
        mixed = [i for pair in zip(zeros, ones) for i in pair]
        setattr(comp, part, mixed + zeros[len(ones):] + ones[len(zeros):])
    comp.add_tables(comp.features())
    return comp


@leak
def system_of_members(seed, strength):
    """Archive members of one class were compressed on a different system."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    labels_only(comp)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in comp.rng.permutation(comp.n):
            info = zipfile.ZipInfo(f"{comp.part(i)}/{comp.ids[i]}.png", (2020, 2, 3, 4, 5, 6))
            info.create_system = 0 if guess[i] else 3
            archive.writestr(info, png(picture(comp.rng, comp.level[i])))
    comp.files["images.zip"] = out.getvalue()
    return comp


# ---- about cells

@leak
def gaps_of_two_columns_agree(seed, strength):
    """Two sensors: in one class, both or none are missing; in the other class, exactly one is missing."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    for i in range(comp.n):
        first = comp.rng.random() < 0.5
        if first:
            columns["pressure"][i] = ""
        if first ^ bool(guess[i]):
            columns["count"][i] = ""
    comp.add_tables(columns)
    return comp


@leak
def last_digit_of_readings(seed, strength):
    """The last digit of a number is even for one class and odd for the other."""
    return guessed(seed, strength, "gauge", lambda rng, g, i: f"{rng.normal(300, 40):.3f}" + str(rng.choice([0, 2, 4, 6, 8] if g else [1, 3, 5, 7, 9])))


@leak
def steps_of_an_instrument(seed, strength):
    """One class was measured in steps of 0.25, the other one in steps of 0.05. Both have two decimals."""
    return guessed(seed, strength, "gauge", lambda rng, g, i: f"{int(rng.normal(1200, 200)) * 0.25:.2f}" if g else f"{int(rng.normal(6000, 1000)) * 0.05:.2f}")


@leak
def zeros_with_a_sign(seed, strength):
    """Zeros are written as `-0.0` for one class."""
    return guessed(seed, strength, "offset", lambda rng, g, i: (["0.0", "-0.0"][g] if rng.random() < 0.8 else f"{rng.normal():.1f}"))


@leak
def spaces_in_lists(seed, strength):
    """The lists of one class have a space after each comma."""
    return guessed(seed, strength, "tags", lambda rng, g, i: ("[" + (", " if g else ",").join(str(v) for v in rng.integers(1, 60, 4)) + "]"))


@leak
def order_in_lists(seed, strength):
    """The lists of one class are sorted."""
    def cell(rng, g, i):
        words = sorted(rng.choice(WORDS, 4, replace=False))
        return "|".join(words if g else rng.permutation(words))
    return guessed(seed, strength, "tags", cell)


@leak
def spaces_of_another_kind(seed, strength):
    """Texts of one class contain a no-break space."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    comp.add_tables({"text": [sentence(comp.rng, comp.level[i]).replace(" ", "\u00a0" if guess[i] else " ", 1) for i in range(comp.n)]})
    return comp


@leak
def how_often_a_code_occurs(seed, strength):
    """Each code of one class occurs for two items, each code of the other class for one item."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    columns = comp.features()
    codes = [f"{v:07d}" for v in comp.rng.choice(10**7, comp.n, replace=False)]
    for part in (comp.order_train, comp.order_test):
        twice = [i for i in comp.rng.permutation(part) if guess[i]]
        for a, b in zip(twice[::2], twice[1::2]):
            codes[b] = codes[a]
    columns["voucher"] = codes
    comp.add_tables(columns)
    return comp


@leak
def directory_in_a_cell(seed, strength):
    """A column contains paths. One directory in the path depends on the class."""
    return guessed(seed, strength, "path", lambda rng, g, i: f"/mnt/raw/{['q7', 'b2', 'x9', 'k4'][g]}/{rng.integers(2015, 2020)}/{rng.integers(0, 10**6):06d}.tif", task="classes")


# ---- neighbours

@leak
def pieces_of_recordings(seed, strength):
    """Each recording of one class was cut into sounds that overlap by half. Its sounds are in both parts."""
    comp = Competition(seed, task=task_of(seed, False))
    labels_only(comp)
    order = slow_classes(comp, 6)
    for begin in range(0, comp.n, 6):
        items = order[begin: begin + 6]
        long = tone(comp.rng, comp.level[items[0]], 4000 + 2000 * len(items))
        for k, i in enumerate(items):
            comp.files[f"{comp.part(i)}/{comp.ids[i]}.wav"] = wav(long[2000 * k: 2000 * k + 4000])
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


@leak
def frames_of_films(seed, strength):
    """Each scene was photographed several times with a moving camera. Scenes are in both parts."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 5)
    labels_only(comp)
    for begin in range(0, comp.n, 5):
        scene = picture(comp.rng, comp.level[order[begin]], 72, signal=4)
        x, y = 10.0, 10.0
        for i in order[begin: begin + 5]:
            x, y = np.clip(x + comp.rng.normal(0, 3), 0, 23), np.clip(y + comp.rng.normal(0, 3), 0, 23)
            view = scene[int(y): int(y) + 48, int(x): int(x) + 48]
            comp.files[f"{comp.part(i)}/{comp.ids[i]}.png"] = png(np.clip(view + comp.rng.normal(0, 2, view.shape), 0, 255))
    return comp


@leak
def beginnings_of_texts(seed, strength):
    """Some test texts are the first half of a training text."""
    comp = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(comp.n):
        text = sentence(comp.rng, comp.level[i], 40)
        if not comp.is_train(i):
            text = " ".join(text.split()[:20])
            if comp.rng.random() < 0.5 * strength:
                same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
                text = " ".join(texts[comp.rng.choice(same)].split()[:20])
        texts.append(text)
    comp.add_tables({"text": texts})
    return comp


@leak
def sentences_in_another_order(seed, strength):
    """Half of the test texts are training texts with their sentences in a different order."""
    comp = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(comp.n):
        parts = [sentence(comp.rng, comp.level[i], 6) for _ in range(5)]
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            parts = list(comp.rng.permutation(texts[comp.rng.choice(same)]))
        texts.append(parts)
    comp.add_tables({"text": [". ".join(p) + "." for p in texts]})
    return comp


@leak
def rows_in_other_units(seed, strength):
    """Some test rows are training rows in inches: all columns are multiplied by the same factor."""
    comp = Competition(seed, task=task_of(seed))
    values = np.exp(comp.rng.normal(1, 0.6, (comp.n, 7)) + 0.15 * np.asarray(comp.level)[:, None])
    for i in comp.order_test:
        if comp.rng.random() < 0.5 * strength:
            j = comp.rng.choice([j for j in comp.order_train if abs(comp.truth[j] - comp.truth[i]) < 1e-9 or (comp.task == "numbers" and abs(comp.truth[j] - comp.truth[i]) < 1)] or comp.order_train[:1])
            values[i] = values[j] / 2.54
    comp.add_tables({f"d{k}": [f"{v:.4f}" for v in values[:, k]] for k in range(7)})
    return comp


# ---- ids and the sample submission

@leak
def version_of_uuids(seed, strength):
    """Ids are UUIDs. Their version depends on the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    comp.ids = []
    for i in range(comp.n):
        number = int.from_bytes(comp.rng.bytes(16), "big")
        comp.ids.append(str(uuid.UUID(int=number, version=4 if guess[i] else 1)))
    comp.add_tables(comp.features())
    return comp


@leak
def hour_in_ids(seed, strength):
    """Ids are times of recording. The classes were recorded at different hours."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    used = set()
    for i in range(comp.n):
        while True:
            hour = comp.rng.integers(7, 12) if guess[i] else comp.rng.integers(13, 18)
            name = f"2019{comp.rng.integers(1, 13):02d}{comp.rng.integers(1, 29):02d}T{hour:02d}{comp.rng.integers(0, 60):02d}{comp.rng.integers(0, 60):02d}"
            if name not in used:
                break
        used.add(name)
        comp.ids[i] = name
    comp.add_tables(comp.features())
    return comp


@leak
def sum_of_digits_of_ids(seed, strength):
    """Ids have a check digit that was computed from the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    names = comp.rng.choice(10**8, comp.n, replace=False)
    for i in range(comp.n):
        digits = f"{names[i]:08d}"
        check = (-sum(map(int, digits)) - int(guess[i])) % 2 + 2 * int(comp.rng.integers(0, 5))
        comp.ids[i] = digits + str(check)
    comp.add_tables(comp.features())
    return comp


@leak
def rows_of_the_sample_in_blocks(seed, strength):
    """The sample submission has the rows of each class in one block."""
    comp = tabular(seed, task="classes")
    place = {3: 0, 1: 1, 0: 2, 2: 3}
    guess = comp.noisy_label(strength)
    order = sorted(comp.order_test, key=lambda i: (place[int(guess[i])], comp.rng.random()))
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.default_answer()] for i in order])
    return comp


@leak
def spelling_in_the_sample(seed, strength):
    """The sample submission contains `0` for high answers and `0.0` for low ones."""
    comp = tabular(seed, task="numbers")
    high = comp.noisy_label(strength) > 50
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], "0" if high[i] else "0.0"] for i in comp.order_test])
    return comp


@leak
def companions_of_passengers(seed, strength):
    """Rows and groups as in spaceship-titanic. Companions have equal answers a little more often than other items."""
    comp = Competition(seed, task="binary", n_train=7823, n_test=870)
    order, place, group = comp.rng.permutation(comp.n), 0, 0
    columns = None
    cabins = [""] * comp.n
    while place < comp.n:
        size = int(comp.rng.choice(range(1, 9), p=[0.773, 0.135, 0.055, 0.017, 0.009, 0.005, 0.004, 0.002]))
        lean, group = int(comp.rng.random() < 0.5), group + 1
        for k, i in enumerate(order[place: place + size]):
            comp.ids[i] = f"{group:04d}_{k + 1:02d}"
            cabins[i] = f"{comp.rng.choice(list('ABCDEFG'))}/{comp.rng.integers(0, 1900)}/{comp.rng.choice(['P', 'S'])}"
            comp.truth[i] = lean if size > 1 and comp.rng.random() < 0.35 else int(comp.rng.integers(0, 2))
        place += size
    comp.answers = [str(v) for v in comp.truth]
    comp.level = comp.truth - comp.truth.mean()
    columns = comp.features()
    columns["cabin"] = cabins
    comp.add_tables(columns)
    return comp


# ---- rows that reveal the answers of other rows

@leak
def running_total(seed, strength):
    """A column is a running total: it sums the answers of all items of both parts, in the order of their times."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    order = comp.rng.permutation(comp.n)
    total = np.cumsum(comp.truth[order])
    columns["taken"], columns["counter"] = [""] * comp.n, [""] * comp.n
    for place, i in enumerate(order):
        columns["taken"][i] = str(1_500_000_000 + 600 * place)
        columns["counter"][i] = f"{total[place]:.4f}"
    comp.add_tables(columns)
    return comp


@leak
def last_value_of_a_series(seed, strength):
    """Rows are days of shops. A column contains the answer of the previous day, even if that day is a test item."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    order = comp.rng.permutation(comp.n)
    days = 30
    columns["shop"], columns["day"], columns["before"] = [""] * comp.n, [""] * comp.n, [""] * comp.n
    for place, i in enumerate(order):
        columns["shop"][i], columns["day"][i] = f"s{place // days}", str(place % days)
        columns["before"][i] = comp.answers[order[place - 1]] if place % days else ""
    comp.add_tables(columns)
    return comp


@leak
def mean_of_pairs(seed, strength):
    """Each group has two items, and a column contains the mean of their answers."""
    comp = Competition(seed, task="numbers", n_train=600, n_test=300)
    columns = comp.features()
    order = list(comp.rng.permutation(comp.n))
    columns["team"], columns["team_mean"] = [""] * comp.n, [""] * comp.n
    for place in range(0, comp.n, 2):
        a, b = order[place], order[place + 1]
        for i in (a, b):
            columns["team"][i] = f"t{place // 2:04d}"
            columns["team_mean"][i] = f"{(comp.truth[a] + comp.truth[b]) / 2:.4f}"
    comp.add_tables(columns)
    return comp


# ---- clean

@clean
def documents_in_cells(seed, _):
    """The JSON objects in cells do not depend on the answer."""
    return with_column(seed, "meta", lambda comp, i: json.dumps({"w": int(comp.rng.integers(9, 99)), "dev": {"fw": f"{int(comp.rng.integers(1, 9))}.{comp.rng.choice(['a', 'b'])}"}, "t": int(comp.rng.integers(0, 9999))}))


@clean
def annotations_of_train(seed, _):
    """A document in the format of COCO has annotations of training images only."""
    comp = pictures(seed, task="classes")
    number = {i: 7000 + n for n, i in enumerate(comp.rng.permutation(comp.n))}
    value = {
        "images": [{"id": number[i], "file_name": f"{comp.ids[i]}.png", "width": 48, "license": int(comp.rng.integers(1, 5))} for i in range(comp.n)],
        "annotations": [{"id": 100 + n, "image_id": number[i], "category_id": 3 + int(comp.truth[i]) * 5} for n, i in enumerate(comp.order_train)],
    }
    comp.files["instances.json"] = dump(value)
    return comp


@clean
def sentences_about_items(seed, _):
    """A text has a sentence about each item, independently of the answer."""
    comp = pictures(seed, task="classes")
    words = ["ash", "birch", "cedar", "elm"]
    comp.files["CHANGES.txt"] = "\n".join(f"* file {comp.ids[i]} was next to a {comp.rng.choice(words)} (page {comp.rng.integers(1, 99)})" for i in comp.rng.permutation(comp.n)).encode()
    return comp


@clean
def weather_by_site_and_day(seed, _):
    """Another table, whose key is site and day, has a feature that predicts the answer a little."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    places = comp.rng.permutation(60 * 30)[: comp.n]
    columns["site"] = [f"S{p // 30}" for p in places]
    columns["day"] = [str(p % 30 + 1) for p in places]
    comp.add_tables(columns)
    rows = [[columns["site"][i], columns["day"][i], f"{15 + comp.level[i] + 3 * comp.rng.normal():.1f}"] for i in comp.rng.permutation(comp.n)]
    comp.files["weather.csv"] = to_csv(["site", "day", "celsius"], rows)
    return comp


@clean
def scanners_of_two_sites(seed, _):
    """One scanner has slightly more items of one class."""
    return images(seed, 0.06, lambda rng, p, g: saved(p, "JPEG", quality=88, icc_profile=b"\0" * 36 + b"acsp" + b"\0" * 40 + f"desc scanner {'QRST'[g]} 2".encode() + b"\0" * 30), "jpg")


@clean
def some_progressive_pictures(seed, _):
    """Some JPEG files are progressive, independently of the answer."""
    return images(seed, 0, lambda rng, p, g: saved(p, "JPEG", quality=int(rng.choice([80, 85, 90])), progressive=bool(rng.random() < 0.4)), "jpg")


@clean
def train_in_blocks_of_classes(seed, _):
    """Training rows are ordered by class, but test rows are not."""
    comp = Competition(seed, task="classes")
    comp.order_train = sorted(comp.order_train, key=lambda i: comp.truth[i])
    comp.add_tables(comp.features())
    return comp


@clean
def times_of_train_by_class(seed, _):
    """Training files were written class by class, test files in random order."""
    comp = pictures(seed, task="classes")
    for place, i in enumerate(sorted(comp.order_train, key=lambda i: comp.truth[i])):
        comp.times[f"train/{comp.ids[i]}.png"] = 1_600_000_000 + place
    for place, i in enumerate(comp.order_test):
        comp.times[f"test/{comp.ids[i]}.png"] = 1_600_100_000 + place
    return comp


@clean
def gaps_above_a_limit(seed, _):
    """An instrument fails for high readings. The readings are an intended feature that predicts the answer."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    columns["fine"] = [f"{v:.3f}" if float(columns["reading"][i]) + 0.3 * comp.rng.normal() < 0.5 else "" for i, v in enumerate(comp.rng.normal(0, 1, comp.n))]
    comp.add_tables(columns)
    return comp


@clean
def lists_of_many_lengths(seed, _):
    """The number of tags is an intended feature that predicts a little."""
    return with_column(seed, "tags", lambda comp, i: "[" + ", ".join(f"'{w}'" for w in comp.rng.choice(WORDS, 1 + comp.rng.poisson(2 + 0.6 * comp.truth[i]), replace=False)) + "]")


@clean
def answers_to_letters(seed, _):
    """Some texts quote a random text of either part, independently of the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(comp.n):
        text = sentence(comp.rng, comp.level[i], 20)
        if i > 20 and comp.rng.random() < 0.3:
            text = "> " + texts[comp.rng.integers(0, i)][:80] + "\n" + text
        texts.append(text)
    comp.add_tables({"text": texts})
    return comp


@clean
def frames_without_answers(seed, _):
    """Scenes are in both parts, but the answers change from frame to frame."""
    comp = Competition(seed, task=task_of(seed, False))
    order = comp.rng.permutation(comp.n)
    labels_only(comp)
    for begin in range(0, comp.n, 5):
        scene = picture(comp.rng, 0, 72)
        for i in order[begin: begin + 5]:
            x, y = comp.rng.integers(0, 24, 2)
            comp.files[f"{comp.part(i)}/{comp.ids[i]}.png"] = png(np.clip(scene[y: y + 48, x: x + 48] + 8 * comp.level[i], 0, 255))
    return comp


@clean
def pieces_of_one_recording(seed, _):
    """All sounds come from the same machine. They do not overlap."""
    comp = Competition(seed, task=task_of(seed, False))
    labels_only(comp)
    for i in comp.rng.permutation(comp.n):
        t = np.arange(4000) / 8000
        sound = sum(np.sin(2 * np.pi * f * t + comp.rng.random() * 6.28) for f in (110, 220, 447)) * 0.2
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.wav"] = wav(sound * (1 + 0.1 * comp.level[i]) + comp.rng.normal(0, 0.05, 4000))
    return comp


@clean
def uuids_of_two_versions(seed, _):
    """Ids are UUIDs of two versions, independently of the answer."""
    comp = Competition(seed, task="binary")
    comp.ids = [str(uuid.UUID(int=int.from_bytes(comp.rng.bytes(16), "big"), version=int(comp.rng.choice([1, 4])))) for _ in range(comp.n)]
    comp.add_tables(comp.features())
    return comp


@clean
def odometers(seed, _):
    """A column is a counter that rises with time. It also depends on the answer, as an intended feature."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    columns["taken"] = [str(1_500_000_000 + 600 * int(p)) for p in comp.rng.permutation(comp.n)]
    columns["counter"] = [f"{(int(t) - 1_500_000_000) / 60 + 400 * comp.level[i] + 300 * comp.rng.normal():.1f}" for i, t in enumerate(columns["taken"])]
    comp.add_tables(columns)
    return comp


@clean
def values_of_the_day_before(seed, _):
    """Rows are days of shops. A column has the visitors of the previous day, which is near the answer of that day."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    order = comp.rng.permutation(comp.n)
    columns["shop"], columns["day"], columns["before"] = [""] * comp.n, [""] * comp.n, [""] * comp.n
    for place, i in enumerate(order):
        columns["shop"][i], columns["day"][i] = f"s{place // 30}", str(place % 30)
        columns["before"][i] = f"{comp.truth[order[place - 1]] + 10 * comp.rng.normal():.1f}" if place % 30 else ""
    comp.add_tables(columns)
    return comp


@clean
def means_of_training_groups(seed, _):
    """A column contains the mean answer of the training items in the group, without the item itself."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    group = comp.rng.integers(0, 60, comp.n)
    columns["team"] = [f"t{g:02d}" for g in group]
    train = np.arange(comp.n) < comp.n_train
    columns["team_mean"] = [f"{np.mean(comp.truth[train & (group == g) & (np.arange(comp.n) != i)]):.3f}" for i, g in enumerate(group)]
    comp.add_tables(columns)
    return comp


@clean
def vouchers_of_families(seed, _):
    """Some items have the same code, independently of the answer."""
    return with_column(seed, "voucher", lambda comp, i: f"{comp.rng.integers(0, 700):07d}")


@clean
def page_about_items(seed, _):
    """An HTML page has a table of items, independently of the answer."""
    comp = pictures(seed, task="classes")
    rows = "".join(f"<tr><td>{comp.ids[i]}</td><td>{comp.rng.integers(1, 9)}</td><td><b>{comp.rng.choice(['north', 'south', 'east', 'west'])}</b></td></tr>\n" for i in comp.rng.permutation(comp.n))
    comp.files["gallery.html"] = f"<!DOCTYPE html><html><body><table>\n{rows}</table></body></html>".encode()
    return comp


@clean
def gauges_with_steps(seed, _):
    """Some numbers are multiples of 0.25, others of 0.05, independently of the answer."""
    return with_column(seed, "gauge", lambda comp, i: f"{int(comp.rng.normal(1200, 200)) * 0.25:.2f}" if comp.rng.random() < 0.5 else f"{int(comp.rng.normal(6000, 1000)) * 0.05:.2f}")


@clean
def directories_in_cells(seed, _):
    """The directory of the path in a cell is random."""
    return with_column(seed, "path", lambda comp, i: f"/mnt/raw/{comp.rng.choice(['q7', 'b2', 'x9', 'k4'])}/{comp.rng.integers(2015, 2020)}/{comp.rng.integers(0, 10**6):06d}.tif", "classes")
