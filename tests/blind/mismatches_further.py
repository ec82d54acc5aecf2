"""A second set of mismatches, written after the audit had been tuned on the first."""

import gzip
import io
import json
import tarfile
import zipfile

import numpy as np
from PIL import Image

import mismatches
from competition import jpeg, npy, picture, png, tfrecord, to_csv, tone, wav, zipped
from mismatches import cells, text_of

CASES = {}
ANSWERS_CSV, TEST_CSV, SAMPLE_CSV, TRAIN_CSV = "private/test_labels.csv", "public/test.csv", "public/sample_submission.csv", "public/train.csv"
KEY, LABEL, ANSWERS = "id", "label", ANSWERS_CSV


def case(causes, harm, by_position=False):
    def register(function):
        wanted = [one if isinstance(one, set) else {one} for one in causes]
        CASES[function.__name__.replace("_", "-")] = (function, wanted, harm, by_position)
        return function

    return register


def tree(seed):
    rng = np.random.default_rng(seed + 700)
    files = {}
    n_train, n_test = 150, 80
    n = n_train + n_test
    ids = [f"{v:05d}" for v in rng.choice(90_000, n, replace=False)]
    ids[5], ids[n_train + 4] = "00071", "00042"
    label = [["cat", "dog", "owl"][v] for v in rng.integers(0, 3, n)]
    size = rng.normal(5, 2, n)
    names = [f"{a} {b}" for a, b in zip(rng.choice(["René", "Ann", "Øle", "Bo"], n), rng.choice(["O'Hara", "Li, Jr.", 'the "old"', "Kim"], n))]
    day = [str(np.datetime64("2019-03-01") + int(v)) for v in rng.integers(0, 300, n)]
    flag = [["True", "False"][v] for v in rng.integers(0, 2, n)]
    rows = lambda part: [[ids[i], f"{size[i]:.5f}", names[i], day[i], flag[i]] for i in part]
    train, test = range(n_train), range(n_train, n)
    head = ["id", "size", "name", "day", "flag"]
    files[TRAIN_CSV] = to_csv(head + ["label"], [r + [label[i]] for r, i in zip(rows(train), train)])
    files[TEST_CSV] = to_csv(head, rows(test))
    files[SAMPLE_CSV] = to_csv(["id", "label"], [[ids[i], "cat"] for i in test])
    files[ANSWERS_CSV] = to_csv(["id", "label"], [[ids[i], label[i]] for i in test])
    for k, i in enumerate(list(train)[:6] + list(test)[:6]):
        part = "train" if i < n_train else "test"
        colour = np.stack([picture(rng, 0, 32)] * 3, -1) * np.array([1, 0.9, 0.8])
        files[f"public/images/{part}/{ids[i]}.jpg"] = jpeg(colour)
        files[f"public/masks/{part}/{ids[i]}.png"] = png(picture(rng, 0, 20))
    files["public/meta.json"] = json.dumps({"version": 3, "items": [{"id": ids[i], "w": int(rng.integers(3, 99)), "where": {"x": round(size[i], 4), "names": [names[i]]}} for i in train], "ratio": 1.0}).encode()
    files["public/events.jsonl"] = "".join(json.dumps({"id": ids[i], "v": round(size[i], 3)}) + "\n" for i in train).encode()
    files["public/frames.npy"] = npy(rng.normal(0, 1, (30, 4)).astype("<f4"))
    out = io.BytesIO()
    np.savez(out, a=rng.normal(0, 1, 20), b=np.arange(12))
    files["public/both.npz"] = out.getvalue()
    files["public/notes.tar.gz"] = tar({f"n/{k}.txt": f"note {k} of {rng.integers(0, 99)}\n".encode() for k in range(5)})
    files["public/sound.wav"] = wav(tone(rng, 0, 1500))
    files["public/shard.tfrec"] = tfrecord([{"id": ids[i].encode(), "w": int(i)} for i in range(8)])
    files["public/pack.zip"] = zipped([("t/a.csv", to_csv(["x", "y"], [[j, j * 2] for j in range(25)])), ("t/b.txt", b"hello\n"), ("t/c.png", png(picture(rng, 0, 16)))])
    return files


def tar(members, mode="w:gz", time=1_600_000_000):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), time
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def untar(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}


def rows_of(content):
    import csv
    return list(csv.reader(io.StringIO(content.decode())))


def table(files, path, change, **options):
    rows = rows_of(files[path])
    rows = change(rows) or rows
    files[path] = to_csv(rows[0], rows[1:], **options)


def column(files, path, name, change):
    def each(rows):
        at = rows[0].index(name)
        for n, row in enumerate(rows[1:]):
            row[at] = change(n, row[at])
    table(files, path, each)


def first(files, beginning): return sorted(p for p in files if p.startswith(beginning))[0]


@case([], "equal")
def nothing(files, rng): pass


@case(["labels-changed"], "answers")
def labels_shuffled(files, rng):
    labels = list(rng.permutation([row[1] for row in rows_of(files[ANSWERS_CSV])[1:]]))
    column(files, ANSWERS_CSV, "label", lambda row, value: labels[row])


@case(["labels-changed"], "answers")
def label_missing(files, rng): column(files, ANSWERS_CSV, "label", lambda row, value: "" if row == 6 else value)


@case([{"letter-case", "labels-changed"}], "answers")
def labels_in_capitals(files, rng): column(files, ANSWERS_CSV, "label", lambda row, value: value.upper())


@case([{"blanks", "labels-changed"}], "answers")
def labels_with_spaces(files, rng): column(files, ANSWERS_CSV, "label", lambda row, value: value + " " if row % 3 else value)


@case([{"labels-changed"}], "answers")
def one_label_of_train_changed(files, rng): column(files, TRAIN_CSV, "label", lambda row, value: "owl" if row == 17 and value != "owl" else "cat" if row == 17 else value)


@case([{"number-spelling", "leading-zeros"}, ], "content")
def ids_as_floats_in_test(files, rng): column(files, TEST_CSV, "id", lambda row, value: f"{int(value)}.0")


@case([{"number-spelling", "leading-zeros"}], "answers")
def ids_as_floats_in_answers(files, rng): column(files, ANSWERS_CSV, "id", lambda row, value: f"{int(value)}.0")


@case(["leading-zeros", "row-order"], "content")
def ids_lost_zeros_in_train_sorted(files, rng):
    column(files, TRAIN_CSV, "id", lambda row, value: str(int(value)))
    table(files, TRAIN_CSV, lambda rows: rows[:1] + sorted(rows[1:]))


@case(["leading-zeros", "row-order"], "answers")
def ids_lost_zeros_in_answers_by_number(files, rng):
    column(files, ANSWERS_CSV, "id", lambda row, value: str(int(value)))
    table(files, ANSWERS_CSV, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: int(row[0])))


@case(["leading-zeros", "row-order"], "content")
def ids_lost_zeros_in_sample_by_number(files, rng):
    column(files, SAMPLE_CSV, "id", lambda row, value: str(int(value)))
    table(files, SAMPLE_CSV, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: int(row[0])))


@case(["leading-zeros", "labels-changed"], "answers")
def ids_lost_zeros_and_a_label_changed(files, rng):
    column(files, ANSWERS_CSV, "label", lambda row, value: "owl" if row == 9 and value != "owl" else "dog" if row == 9 else value)
    column(files, ANSWERS_CSV, "id", lambda row, value: str(int(value)))


@case(["line-ends"], "form")
def line_ends_cr(files, rng): text_of(files, TEST_CSV, lambda text: text.replace("\n", "\r"))


@case(["byte-order-mark", "line-ends"], "form")
def byte_order_mark_and_line_ends(files, rng): text_of(files, TRAIN_CSV, lambda text: "\ufeff" + text.replace("\n", "\r\n"))


@case(["encoding"], "form")
def train_in_latin_1(files, rng): files[TRAIN_CSV] = files[TRAIN_CSV].decode().encode("latin-1")


@case(["mojibake"], "content")
def utf_8_decoded_as_latin_1(files, rng): files[TRAIN_CSV] = files[TRAIN_CSV].decode("latin-1").encode()


@case(["values-changed"], "content")
def letters_lost(files, rng): files[TRAIN_CSV] = files[TRAIN_CSV].decode().encode("ascii", "replace")


@case(["delimiter"], "form")
def tabs_as_delimiter(files, rng): table(files, TEST_CSV, lambda rows: None, delimiter="\t")


@case(["quoting"], "form")
def all_quoted(files, rng):
    import csv
    table(files, TEST_CSV, lambda rows: None, quoting=csv.QUOTE_ALL)


@case(["blanks"], "form")
def spaces_after_cells(files, rng): column(files, TRAIN_CSV, "name", lambda row, value: value + "  ")


@case([{"columns-renamed"}], "content")
def spaces_in_the_header(files, rng): text_of(files, TRAIN_CSV, lambda text: text.replace("size", " size", 1))


@case(["columns-renamed"], "answers")
def label_column_renamed(files, rng): text_of(files, ANSWERS_CSV, lambda text: text.replace("label", "target", 1))


@case([{"columns-renamed", "values-changed", "column-order"}], "content")
def names_of_columns_exchanged(files, rng): text_of(files, TRAIN_CSV, lambda text: text.replace("size,name,day", "size,day,name", 1))


@case([{"columns-renamed", "columns-missing", "rows-missing", "columns-added"}], "content")
def no_header(files, rng): text_of(files, TRAIN_CSV, lambda text: text.split("\n", 1)[1])


@case([{"boolean-words"}], "form")
def booleans_in_lower_case(files, rng): column(files, TRAIN_CSV, "flag", lambda row, value: value.lower())


@case([{"boolean-words"}], "form")
def booleans_as_numbers(files, rng): column(files, TEST_CSV, "flag", lambda row, value: str(int(value == "True")))


@case([{"values-changed"}], "content")
def other_dates(files, rng): column(files, TEST_CSV, "day", lambda row, value: f"{value[8:]}/{value[5:7]}/{value[:4]}")


@case([{"values-changed", "float-rounded", "number-spelling"}], "content")
def digits_cut(files, rng): column(files, TRAIN_CSV, "size", lambda row, value: value[:-2])


@case(["number-spelling"], "form")
def more_zeros(files, rng): column(files, TRAIN_CSV, "size", lambda row, value: value + "00")


@case(["number-spelling"], "form")
def exponents(files, rng): column(files, TRAIN_CSV, "size", lambda row, value: f"{float(value):.10e}")


@case(["row-order"], "none")
def train_shuffled(files, rng): table(files, TRAIN_CSV, lambda rows: rows[:1] + [rows[1:][i] for i in rng.permutation(len(rows) - 1)])


@case(["row-order", "labels-changed"], "answers")
def answers_sorted_and_a_label_changed(files, rng):
    column(files, ANSWERS_CSV, "label", lambda row, value: "owl" if row == 9 and value != "owl" else "dog" if row == 9 else value)
    table(files, ANSWERS_CSV, lambda rows: rows[:1] + sorted(rows[1:]))


@case(["row-order"], "answers", by_position=True)
def test_reversed_paired_by_position(files, rng): table(files, TEST_CSV, lambda rows: rows[:1] + rows[:0:-1])


@case(["row-order"], "none", by_position=True)
def train_reversed_paired_by_position(files, rng): table(files, TRAIN_CSV, lambda rows: rows[:1] + rows[:0:-1])


@case(["rows-repeated"], "content")
def train_rows_written_twice(files, rng): text_of(files, TRAIN_CSV, lambda text: text + text.split("\n", 1)[1])


@case([{"rows-repeated", "rows-added"}], "content")
def train_written_twice_with_header(files, rng): text_of(files, TRAIN_CSV, lambda text: text + text)


@case(["rows-added"], "answers")
def test_rows_in_train(files, rng):
    answers = dict(rows_of(files[ANSWERS_CSV])[1:])
    table(files, TRAIN_CSV, lambda rows: rows + [row + [answers[row[0]]] for row in rows_of(files[TEST_CSV])[1:]])


@case(["rows-added"], "content")
def noise_rows_in_train(files, rng): table(files, TRAIN_CSV, lambda rows: rows + [["99991", "1.00000", "x", "2019-01-01", "True", "cat"]])


@case(["rows-missing"], "content")
def sample_rows_removed(files, rng): table(files, SAMPLE_CSV, lambda rows: rows[:30])


@case(["values-changed"], "content")
def another_default(files, rng): column(files, SAMPLE_CSV, "label", lambda row, value: "dog")


@case([{"values-changed", "labels-changed"}], "answers")
def sample_holds_most_answers(files, rng):
    answers = [row[1] for row in rows_of(files[ANSWERS_CSV])[1:]]
    column(files, SAMPLE_CSV, "label", lambda row, value: answers[row] if row % 4 else value)


@case(["columns-added"], "answers")
def answers_in_test_as_numbers(files, rng):
    answers = [["cat", "dog", "owl"].index(row[1]) for row in rows_of(files[ANSWERS_CSV])[1:]]
    table(files, TEST_CSV, lambda rows: [row + [str(([None] + answers)[n]) if n else "code"] for n, row in enumerate(rows)])


@case(["columns-added"], "content")
def ranks_in_train(files, rng): table(files, TRAIN_CSV, lambda rows: [row + [str(n) if n else "rank"] for n, row in enumerate(rows)])


@case([{"columns-added", "delimiter"}], "content")
def comma_after_each_row(files, rng): text_of(files, TRAIN_CSV, lambda text: "".join(line + ",\n" for line in text.splitlines()))


@case(["final-newline"], "form")
def two_line_ends(files, rng): text_of(files, TEST_CSV, lambda text: text + "\n")


@case(["files-surplus"], "answers")
def answers_in_an_archive(files, rng): files["public/backup.zip"] = zipped([("x/readme.txt", b"x"), ("x/labels.csv", files[ANSWERS_CSV])])


@case(["files-surplus"], "answers")
def answers_as_document(files, rng): files["public/solution.json"] = json.dumps([dict(zip(("id", "label"), row)) for row in rows_of(files[ANSWERS_CSV])[1:]]).encode()


@case(["files-surplus"], "answers")
def answers_by_key(files, rng): files["public/solution.json"] = json.dumps({row[0]: row[1] for row in rows_of(files[ANSWERS_CSV])[1:]}).encode()


@case(["files-surplus"], "answers")
def answers_with_other_names(files, rng): files["public/check.csv"] = to_csv(["k", "v", "w"], [[n, row[0], row[1]] for n, row in enumerate(rows_of(files[ANSWERS_CSV])[1:])])


@case(["files-surplus"], "content")
def additional_public_table(files, rng): files["public/check.csv"] = to_csv(["k", "v"], [[row[0], rng.integers(0, 9)] for row in rows_of(files[TEST_CSV])[1:]])


@case([{"files-surplus"}], "content")
def system_files(files, rng): files["public/.DS_Store"] = b"\0\0\0\1Bud1"; files["public/images/Thumbs.db"] = b"xx"


@case(["files-renamed"], "answers")
def answers_renamed(files, rng): files["private/answers.csv"] = files.pop(ANSWERS_CSV)


@case([{"files-renamed", "files-surplus"}], "answers")
def answers_made_public(files, rng): files["public/test_labels.csv"] = files.pop(ANSWERS_CSV)


@case(["file-packed"], "form")
def table_gzipped_by_name(files, rng): files[TRAIN_CSV + ".gz"] = gzip.compress(files.pop(TRAIN_CSV))


@case([{"image-pixels"}], "content")
def jpeg_saved_again(files, rng):
    path = first(files, "public/images/train/")
    files[path] = jpeg(np.array(Image.open(io.BytesIO(files[path]))), quality=50)


@case([{"image-bytes"}], "form")
def jpeg_lost_its_header(files, rng):
    path = first(files, "public/images/train/")
    files[path] = files[path][:2] + b"\xff\xfe\x00\x06abcd" + files[path][2:]


@case([{"image-pixels", "files-damaged", "image-damaged"}], "content")
def png_that_is_jpeg(files, rng):
    path = first(files, "public/masks/train/")
    files[path] = jpeg(np.array(Image.open(io.BytesIO(files[path]))))


@case([{"image-bytes"}], "form")
def mask_in_colour(files, rng):
    path = first(files, "public/masks/train/")
    p = np.array(Image.open(io.BytesIO(files[path])))
    files[path] = png(np.stack([p, p, p], -1))


@case([{"image-pixels"}], "content")
def picture_mirrored(files, rng):
    path = first(files, "public/masks/train/")
    files[path] = png(np.array(Image.open(io.BytesIO(files[path])))[:, ::-1])


@case([{"files-cut-off"}], "content")
def half_a_picture(files, rng):
    path = first(files, "public/images/train/")
    files[path] = files[path][: len(files[path]) // 2]


@case([{"image-damaged", "files-damaged", "image-pixels"}], "content")
def hole_in_a_picture(files, rng):
    path = first(files, "public/masks/train/")
    half = len(files[path]) // 2
    files[path] = files[path][:half] + b"\0" * 60 + files[path][half + 60:]


@case([{"files-damaged"}], "content")
def page_instead_of_picture(files, rng): files[first(files, "public/images/train/")] = b"<!DOCTYPE html><html><body>404 not found</body></html>"


@case([{"files-damaged"}], "answers")
def page_instead_of_answers(files, rng): files[ANSWERS_CSV] = b"<!DOCTYPE html><html><body>404 not found</body></html>"


@case(["files-renamed"], "content")
def one_more_directory(files, rng):
    for path in [p for p in files if p.startswith("public/images/train/")]:
        files[path.replace("images/train/", "images/train/train/")] = files.pop(path)


@case(["files-swapped"], "answers")
def masks_of_test_swapped(files, rng):
    a, b = sorted(p for p in files if p.startswith("public/masks/test/"))[:2]
    files[a], files[b] = files[b], files[a]


@case(["files-swapped"], "content")
def a_picture_twice(files, rng):
    a, b = sorted(p for p in files if p.startswith("public/images/train/"))[:2]
    files[a] = files[b]


@case(["files-swapped"], "answers")
def a_test_picture_in_train(files, rng): files[first(files, "public/images/train/")] = files[first(files, "public/images/test/")]


@case([{"number-spelling", "values-changed", "column-types"}], "form")
def document_numbers_as_integers(files, rng):
    v = json.loads(files["public/meta.json"]); v["ratio"] = 1
    files["public/meta.json"] = json.dumps(v).encode()


@case([{"values-changed", "column-types", "number-spelling"}], "form")
def document_numbers_as_texts(files, rng):
    v = json.loads(files["public/meta.json"]); v["items"][3]["w"] = str(v["items"][3]["w"])
    files["public/meta.json"] = json.dumps(v).encode()


@case([{"values-changed", "columns-missing", "rows-missing"}], "content")
def document_key_removed(files, rng):
    v = json.loads(files["public/meta.json"]); del v["items"][3]["where"]["x"]
    files["public/meta.json"] = json.dumps(v).encode()


@case([{"row-order"}], "none")
def document_items_sorted(files, rng):
    v = json.loads(files["public/meta.json"]); v["items"].sort(key=lambda one: one["id"])
    files["public/meta.json"] = json.dumps(v).encode()


@case([{"rows-missing", "values-changed"}], "content")
def document_item_removed(files, rng):
    v = json.loads(files["public/meta.json"]); del v["items"][7]
    files["public/meta.json"] = json.dumps(v).encode()


@case(["document-layout"], "form")
def document_letters_plain(files, rng): files["public/meta.json"] = json.dumps(json.loads(files["public/meta.json"]), ensure_ascii=False).encode()


@case([{"document-layout", "byte-order-mark"}], "form")
def document_with_mark(files, rng): files["public/meta.json"] = b"\xef\xbb\xbf" + files["public/meta.json"]


@case([{"document-layout"}], "form")
def lines_as_a_list(files, rng): files["public/events.jsonl"] = json.dumps([json.loads(line) for line in files["public/events.jsonl"].splitlines()]).encode()


@case(["files-cut-off"], "content")
def document_cut(files, rng): files["public/meta.json"] = files["public/meta.json"][:-40]


@case([{"values-changed"}], "content")
def not_a_number_as_null(files, rng): files["public/events.jsonl"] = "".join(line + "\n" if n != 4 else json.dumps({**json.loads(line), "v": None}) + "\n" for n, line in enumerate(files["public/events.jsonl"].decode().splitlines())).encode()


@case(["column-types", "float-single"], "form")
def array_of_doubles(files, rng): files["public/frames.npy"] = npy(np.load(io.BytesIO(files["public/frames.npy"])).astype("<f8"))


@case([{"array-shape"}], "content")
def array_turned(files, rng): files["public/frames.npy"] = npy(np.ascontiguousarray(np.load(io.BytesIO(files["public/frames.npy"])).T))


@case([{"array-shape", "rows-missing"}], "content")
def array_shorter(files, rng): files["public/frames.npy"] = npy(np.load(io.BytesIO(files["public/frames.npy"]))[:-2])


@case([{"row-order"}], "none")
def array_rows_in_another_order(files, rng): files["public/frames.npy"] = npy(np.load(io.BytesIO(files["public/frames.npy"]))[::-1].copy())


@case(["archive-repacked"], "none")
def arrays_compressed(files, rng):
    out = io.BytesIO()
    np.savez_compressed(out, **np.load(io.BytesIO(files["public/both.npz"])))
    files["public/both.npz"] = out.getvalue()


@case([{"files-missing"}], "content")
def one_of_both_arrays(files, rng):
    out = io.BytesIO()
    np.savez(out, a=np.load(io.BytesIO(files["public/both.npz"]))["a"])
    files["public/both.npz"] = out.getvalue()


@case(["archive-repacked"], "none")
def tar_with_other_times(files, rng): files["public/notes.tar.gz"] = tar(untar(files["public/notes.tar.gz"]), time=1_700_000_000)


@case([{"archive-repacked", "files-damaged"}], "none")
def tar_without_compression(files, rng): files["public/notes.tar.gz"] = tar(untar(files["public/notes.tar.gz"]), mode="w")


@case([{"values-changed", "files-changed"}], "content")
def tar_member_changed(files, rng):
    members = untar(files["public/notes.tar.gz"]); members["n/2.txt"] = b"note two\n"
    files["public/notes.tar.gz"] = tar(members)


@case(["files-cut-off"], "content")
def tar_cut(files, rng): files["public/notes.tar.gz"] = files["public/notes.tar.gz"][:-30]


@case(["archive-repacked"], "none")
def members_in_another_order(files, rng):
    with zipfile.ZipFile(io.BytesIO(files["public/pack.zip"])) as archive:
        files["public/pack.zip"] = zipped([(n, archive.read(n)) for n in archive.namelist()[::-1]])


@case(["archive-repacked"], "none")
def comment_of_an_archive(files, rng):
    out = io.BytesIO(files["public/pack.zip"])
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = b"made by somebody"
    files["public/pack.zip"] = out.getvalue()


@case(["files-renamed"], "content")
def directory_in_an_archive(files, rng):
    with zipfile.ZipFile(io.BytesIO(files["public/pack.zip"])) as archive:
        files["public/pack.zip"] = zipped([("pack/" + n, archive.read(n)) for n in archive.namelist()])


@case(["files-surplus"], "content")
def additional_member(files, rng):
    with zipfile.ZipFile(io.BytesIO(files["public/pack.zip"])) as archive:
        files["public/pack.zip"] = zipped([(n, archive.read(n)) for n in archive.namelist()] + [("t/d.txt", b"more")])


@case(["files-surplus"], "answers")
def answers_as_member(files, rng):
    with zipfile.ZipFile(io.BytesIO(files["public/pack.zip"])) as archive:
        files["public/pack.zip"] = zipped([(n, archive.read(n)) for n in archive.namelist()] + [("t/labels.csv", files[ANSWERS_CSV])])


@case([{"files-damaged"}], "content")
def tar_named_zip(files, rng):
    with zipfile.ZipFile(io.BytesIO(files["public/pack.zip"])) as archive:
        files["public/pack.zip"] = tar({n: archive.read(n) for n in archive.namelist()}, "w")


@case(["archive-unpacked"], "form")
def archive_unpacked(files, rng):
    with zipfile.ZipFile(io.BytesIO(files.pop("public/pack.zip"))) as archive:
        files.update({f"public/pack/{n}": archive.read(n) for n in archive.namelist()})


@case([{"files-changed"}], "content")
def sound_changed(files, rng): files["public/sound.wav"] = files["public/sound.wav"][:200] + b"\x05\x05" + files["public/sound.wav"][202:]


@case(["bytes-appended"], "content")
def sound_with_tail(files, rng): files["public/sound.wav"] += b"ID3tail"


@case(["files-cut-off"], "content")
def records_cut(files, rng): files["public/shard.tfrec"] = files["public/shard.tfrec"][:-9]


@case(["file-names-case"], "content")
def names_in_capitals(files, rng):
    path = first(files, "public/images/train/")
    files[path.replace(".jpg", ".JPG")] = files.pop(path)


@case(["files-empty"], "answers")
def answers_empty(files, rng): files[ANSWERS_CSV] = b""


@case([{"parts-swapped", "files-other-part"}], "answers")
def directories_swapped(files, rng):
    for kind in ("images", "masks"):
        train = {p: files.pop(p) for p in list(files) if p.startswith(f"public/{kind}/train/")}
        test = {p: files.pop(p) for p in list(files) if p.startswith(f"public/{kind}/test/")}
        files.update({p.replace("/train/", "/test/"): c for p, c in train.items()})
        files.update({p.replace("/test/", "/train/"): c for p, c in test.items()})
