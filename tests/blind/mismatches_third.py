"""A third set of mismatches, written before the audit was changed for these cases.

The causes are those of the other sets, in compressed files and in files with different roles."""

import csv
import gzip
import io
import json
import random
import tarfile
import unicodedata
import zipfile

import numpy as np
from PIL import Image

from competition import jpeg, mat, npy, picture, png, tfrecord, to_csv, tone, wav, zipped
from mismatches import text_of
from mismatches_further import column, first, rows_of, table, tar, untar

CASES = {}
ANSWERS_CSV, TEST_CSV, SAMPLE_CSV, TRAIN_CSV = "private/answers.csv", "public/test.csv", "public/sample_submission.csv", "public/train.csv"
PACKED, BOX, NEST = "public/history.csv.gz", "public/images.zip", "public/nest.zip"


def case(causes, harm, by_position=False):
    def register(function):
        wanted = [one if isinstance(one, set) else {one} for one in causes]
        CASES[function.__name__.replace("_", "-")] = (function, wanted, harm, by_position)
        return function

    return register


def tree(seed):
    """Returns the files of a prepared tree. Ids are long numbers, and answers are measurements.

    Tables are compressed, pictures are in an archive, and each item has a file with notes.
    """
    rng = np.random.default_rng(seed + 4000)
    files = {}
    n_train, n_test = 140, 90
    n = n_train + n_test
    ids = [str(20_000_000_000_000_000 + int(v)) for v in rng.choice(10**15, n, replace=False)]
    label = [f"{v:.6f}" for v in rng.normal(12, 4, n)]
    mass, amount = rng.normal(700, 90, n), rng.integers(1000, 99999, n)
    place = [f"{a}, {b}" for a, b in zip(rng.choice(["Genève", "Oslo", "Bath"], n), rng.choice(["north", "south"], n))]
    rows = lambda part: [[ids[i], repr(float(mass[i])), amount[i], place[i], "" if i % 9 == 4 else i % 5] for i in part]
    train, test = range(n_train), range(n_train, n)
    head = ["id", "mass", "amount", "place", "step"]
    files[TRAIN_CSV] = to_csv(head + ["label"], [r + [label[i]] for r, i in zip(rows(train), train)])
    files[TEST_CSV] = to_csv(head, rows(test))
    files[SAMPLE_CSV] = to_csv(["id", "label"], [[ids[i], "12.0"] for i in test])
    files[ANSWERS_CSV] = to_csv(["id", "label"], [[ids[i], label[i]] for i in test])
    files[PACKED] = pack(to_csv(["id", "at", "value", "label"], [[ids[i], f"2020-01-{i % 28 + 1:02d}", f"{rng.normal():.4f}", label[i]] for i in train]))
    members = [(f"train/{ids[i]}.png", png(picture(rng, 0, 20))) for i in train[:6]] + [(f"test/{ids[i]}.png", png(picture(rng, 0, 20))) for i in test[:6]]
    files[BOX] = zipped(members)
    inner = tar({"in/table.csv": to_csv(["id", "depth", "label"], [[ids[i], f"{rng.normal(3):.3f}", label[i]] for i in train]), "in/doc.json": json.dumps({"b": [1, 2, {"c": 0.5}], "a": "x"}).encode(), "in/plain.txt": b"one\ntwo\nthree\n", "in/view.jpg": jpeg(picture(rng, 0, 24))})
    files[NEST] = zipped([("outer/data.tar.gz", inner), ("outer/array.npy", npy(rng.integers(0, 99, (12, 3)))), ("outer/pair.csv.gz", pack(to_csv(["u", "v"], [[k, k * 3] for k in range(20)])))])
    for i in list(train[:6]) + list(test[:6]):
        part = "train" if i < n_train else "test"
        files[f"public/notes/{part}/{ids[i]}.txt"] = f"Visited {place[i]}.\nFound {rng.integers(1, 99)} of them.\n".encode()
        files[f"public/calls/{part}/{ids[i]}.wav"] = wav(tone(rng, 0, 900))
    files["public/boxes.xml"] = ("<boxes>\n" + "".join(f'  <box id="{ids[i]}" x="{rng.integers(0, 9)}"/>\n' for i in train[:20]) + "</boxes>\n").encode()
    files["public/people.jsonl"] = "".join(json.dumps({"id": ids[i], "age": int(rng.integers(20, 60)), "home": {"town": place[i], "rent": round(mass[i], 2)}}) + "\n" for i in test).encode()
    files["public/index.json"] = json.dumps({ids[i]: {"h": round(float(rng.normal()), 5), "k": ["r", "s"]} for i in test}).encode()
    files["public/depth.npy"] = npy(rng.normal(0, 1, (25, 4)))
    files["public/whole.npz"] = npz(left=rng.integers(0, 500, (10, 2)), right=rng.normal(0, 1, 8))
    files["public/rig.mat"] = mat({"gain": rng.normal(0, 1, 6), "name": "rig seven"})
    files["public/part.tfrec"] = tfrecord([{"id": ids[i].encode(), "w": int(amount[i])} for i in train[:9]])
    return files


def pack(content, level=6): return gzip.compress(content, level, mtime=0)


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_box(files, change):
    members = members_of(files[BOX])
    change(members)
    files[BOX] = zipped(list(members.items()))


def in_nest(files, change):
    """Changes members of the tar archive inside the zip archive."""
    outer = members_of(files[NEST])
    inner = untar(outer["outer/data.tar.gz"])
    change(inner)
    outer["outer/data.tar.gz"] = tar(inner)
    files[NEST] = zipped(list(outer.items()))


def in_outer(files, change):
    outer = members_of(files[NEST])
    change(outer)
    files[NEST] = zipped(list(outer.items()))


def packed(files, change): files[PACKED] = pack(change(gzip.decompress(files[PACKED]).decode()).encode())


def packed_cells(files, name, change):
    part = {"x": gzip.decompress(files[PACKED])}
    column(part, "x", name, change)
    files[PACKED] = pack(part["x"])


@case([], "equal")
def nothing(files, rng): pass


# ---- the answers

@case(["labels-changed"], "answers")
def one_measured_answer(files, rng): column(files, ANSWERS_CSV, "label", lambda row, value: f"{float(value) + 1:.6f}" if row == 20 else value)


@case([{"float-rounded"}], "answers")
def answers_rounded(files, rng): column(files, ANSWERS_CSV, "label", lambda row, value: f"{float(value):.1f}")


@case([{"number-spelling"}], "form")
def answers_with_exponents(files, rng): column(files, ANSWERS_CSV, "label", lambda row, value: f"{float(value):.8e}")


@case([{"labels-changed"}], "answers")
def two_ids_exchanged(files, rng):
    ids = [row[0] for row in rows_of(files[ANSWERS_CSV])[1:]]
    ids[3], ids[30] = ids[30], ids[3]
    column(files, ANSWERS_CSV, "id", lambda row, value: ids[row])
    table(files, ANSWERS_CSV, lambda rows: rows[:1] + sorted(rows[1:]))
    mine = {row[0]: n for n, row in enumerate(rows_of(files[TEST_CSV])[1:])}
    table(files, ANSWERS_CSV, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: mine[row[0]]))


@case([{"labels-changed"}], "answers")
def answers_moved_by_one_row(files, rng):
    labels = [row[1] for row in rows_of(files[ANSWERS_CSV])[1:]]
    column(files, ANSWERS_CSV, "label", lambda row, value: labels[row - 1])


@case([{"values-changed", "float-rounded", "rows-missing", "number-spelling"}], "answers")
def ids_of_answers_through_doubles(files, rng): column(files, ANSWERS_CSV, "id", lambda row, value: str(int(float(value))))


@case([{"number-spelling"}], "answers")
def ids_of_answers_with_decimals(files, rng): column(files, ANSWERS_CSV, "id", lambda row, value: value + ".0")


@case([{"number-spelling"}], "content")
def ids_of_sample_with_decimals(files, rng): column(files, SAMPLE_CSV, "id", lambda row, value: value + ".0")


@case(["columns-missing"], "answers")
def answers_without_labels(files, rng): table(files, ANSWERS_CSV, lambda rows: [row[:1] for row in rows])


@case(["columns-added"], "answers")
def answers_with_a_column(files, rng): table(files, ANSWERS_CSV, lambda rows: [row + ["Usage" if n == 0 else ["Public", "Private"][n % 2]] for n, row in enumerate(rows)])


@case(["index-column"], "form")
def answers_with_an_index(files, rng): table(files, ANSWERS_CSV, lambda rows: [["" if n == 0 else str(n - 1)] + row for n, row in enumerate(rows)])


@case([{"rows-repeated"}], "answers")
def answers_twice(files, rng): table(files, ANSWERS_CSV, lambda rows: rows + rows[1:])


@case([{"rows-added"}], "answers")
def train_rows_in_answers(files, rng): table(files, ANSWERS_CSV, lambda rows: rows + [[row[0], row[-1]] for row in rows_of(files[TRAIN_CSV])[1:11]])


@case([{"missing-words"}, {"labels-changed"}], "answers")
def gaps_in_answers_and_words(files, rng):
    column(files, ANSWERS_CSV, "label", lambda row, value: "" if row in (4, 9) else value)
    column(files, TEST_CSV, "step", lambda row, value: value or "NA")


@case(["files-damaged"], "answers")
def answers_gzipped(files, rng): files[ANSWERS_CSV] = gzip.compress(files[ANSWERS_CSV])


@case(["files-damaged", "line-ends"], "answers")
def answers_zipped_with_line_ends(files, rng): files[ANSWERS_CSV] = zipped([("answers.csv", files[ANSWERS_CSV].replace(b"\n", b"\r\n"))])


@case([{"files-damaged", "document-layout", "not-classified", "files-changed"}], "answers")
def answers_as_json_under_csv(files, rng): files[ANSWERS_CSV] = json.dumps([dict(zip(("id", "label"), row)) for row in rows_of(files[ANSWERS_CSV])[1:]]).encode()


@case([{"files-changed", "files-damaged"}], "answers")
def zeros_in_answers(files, rng): files[ANSWERS_CSV] = files[ANSWERS_CSV][:400] + b"\0" * 64 + files[ANSWERS_CSV][464:]


@case(["row-order", "line-ends", "byte-order-mark"], "form")
def three_forms_of_answers(files, rng):
    table(files, ANSWERS_CSV, lambda rows: rows[:1] + rows[:0:-1])
    files[ANSWERS_CSV] = b"\xef\xbb\xbf" + files[ANSWERS_CSV].replace(b"\n", b"\r\n")


@case(["row-order"], "none")
def answers_sorted_by_label(files, rng): table(files, ANSWERS_CSV, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: float(row[1])))


# ---- public tables

@case([{"float-last-digit"}], "form")
def last_digits_changed(files, rng): column(files, TRAIN_CSV, "mass", lambda row, value: repr(float(np.nextafter(float(value), 1e9))))


@case([{"float-single"}], "form")
def single_precision(files, rng): column(files, TRAIN_CSV, "mass", lambda row, value: repr(float(np.float32(float(value)))))


@case([{"number-spelling", "column-types"}], "form")
def integers_became_floats(files, rng): column(files, TRAIN_CSV, "step", lambda row, value: value + ".0" if value else value)


@case([{"number-spelling", "values-changed"}], "content")
def thousands_separated(files, rng): column(files, TRAIN_CSV, "amount", lambda row, value: f"{int(value):,}")


@case([{"delimiter"}], "form")
def bars_as_delimiter(files, rng): table(files, TRAIN_CSV, lambda rows: None, delimiter="|")


@case([{"missing-words"}], "form")
def missing_cells_written_as_none(files, rng): column(files, TEST_CSV, "step", lambda row, value: value or "None")


@case([{"values-changed"}], "content")
def gaps_filled_with_zero(files, rng): column(files, TEST_CSV, "step", lambda row, value: value or "0")


@case([{"letter-case", "columns-renamed"}], "content")
def header_in_capitals(files, rng): text_of(files, TRAIN_CSV, lambda text: text.split("\n", 1)[0].upper() + "\n" + text.split("\n", 1)[1])


@case([{"mojibake"}, {"line-ends"}], "content")
def read_as_latin_on_windows(files, rng): files[TEST_CSV] = files[TEST_CSV].decode("latin-1").replace("\n", "\r\n").encode()


@case([{"other-split"}], "answers")
def another_split(files, rng):
    train, test, answers = rows_of(files[TRAIN_CSV]), rows_of(files[TEST_CSV]), rows_of(files[ANSWERS_CSV])
    labels = dict(answers[1:])
    rows = train[1:] + [row + [labels[row[0]]] for row in test[1:]]
    order = random.Random(5).sample(range(len(rows)), len(rows))
    rows = [rows[k] for k in order]
    files[TRAIN_CSV] = to_csv(train[0], rows[:140])
    files[TEST_CSV] = to_csv(test[0], [row[:-1] for row in rows[140:]])
    files[ANSWERS_CSV] = to_csv(answers[0], [[row[0], row[-1]] for row in rows[140:]])
    files[SAMPLE_CSV] = to_csv(["id", "label"], [[row[0], "12.0"] for row in rows[140:]])


@case(["columns-added"], "answers")
def answers_in_another_unit_in_test(files, rng):
    answers = [row[1] for row in rows_of(files[ANSWERS_CSV])[1:]]
    table(files, TEST_CSV, lambda rows: [row + ["fahrenheit" if n == 0 else f"{float(answers[n - 1]) * 1.8 + 32:.6f}"] for n, row in enumerate(rows)])


@case(["columns-added"], "answers")
def answers_in_test_in_another_order(files, rng):
    answers = dict(rows_of(files[ANSWERS_CSV])[1:])
    table(files, TEST_CSV, lambda rows: [row + ["label" if n == 0 else answers[row[0]]] for n, row in enumerate(rows[:1] + sorted(rows[1:]))])
    mine = {row[0]: n for n, row in enumerate(rows_of(files[ANSWERS_CSV])[1:])}
    table(files, TEST_CSV, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: mine[row[0]]))


@case(["values-changed"], "content")
def sample_holds_a_tenth(files, rng):
    answers = [row[1] for row in rows_of(files[ANSWERS_CSV])[1:]]
    column(files, SAMPLE_CSV, "label", lambda row, value: answers[row] if row % 10 == 3 else value)


@case(["row-order"], "none")
def sample_sorted(files, rng): table(files, SAMPLE_CSV, lambda rows: rows[:1] + sorted(rows[1:]))


# ---- packed tables and archives

@case([{"files-damaged"}], "content")
def packed_twice(files, rng): files[PACKED] = gzip.compress(files[PACKED])


@case([{"files-damaged"}], "content")
def plain_under_gz(files, rng): files[PACKED] = gzip.decompress(files[PACKED])


@case(["archive-repacked"], "none")
def packed_at_another_level(files, rng): files[PACKED] = gzip.compress(gzip.decompress(files[PACKED]), 1)


@case(["files-cut-off"], "content")
def packed_cut(files, rng): files[PACKED] = files[PACKED][:-4]


@case(["bytes-appended"], "content")
def packed_with_tail(files, rng): files[PACKED] += b"\n\nEOF"


@case(["line-ends"], "form")
def line_ends_when_packed(files, rng): packed(files, lambda text: text.replace("\n", "\r\n"))


@case(["byte-order-mark"], "form")
def mark_when_packed(files, rng): packed(files, lambda text: "\ufeff" + text)


@case(["labels-changed"], "answers")
def label_when_packed(files, rng): packed_cells(files, "label", lambda row, value: f"{float(value) + 2:.6f}" if row == 8 else value)


@case(["values-changed"], "content")
def value_when_packed(files, rng): packed_cells(files, "value", lambda row, value: "7.7777" if row == 8 else value)


@case(["rows-missing"], "content")
def rows_removed_from_packed_table(files, rng): packed(files, lambda text: "\n".join(text.splitlines()[:-12]) + "\n")


@case(["rows-added"], "answers")
def test_rows_when_packed(files, rng):
    answers = rows_of(files[ANSWERS_CSV])[1:]
    packed(files, lambda text: text + "".join(f"{i},2020-02-01,0.1,{v}\n" for i, v in answers))


@case(["file-packed"], "form")
def packed_file_without_packing(files, rng): files[PACKED[:-3]] = gzip.decompress(files.pop(PACKED))


@case(["files-swapped"], "answers")
def test_members_swapped(files, rng):
    def change(m):
        a, b = sorted(k for k in m if k.startswith("test/"))[:2]
        m[a], m[b] = m[b], m[a]
    in_box(files, change)


@case(["files-swapped"], "content")
def train_members_swapped(files, rng):
    def change(m):
        a, b = sorted(k for k in m if k.startswith("train/"))[:2]
        m[a], m[b] = m[b], m[a]
    in_box(files, change)


@case(["image-bytes"], "form")
def member_picture_saved_again(files, rng):
    def change(m):
        a = sorted(m)[0]
        m[a] = png(np.array(Image.open(io.BytesIO(m[a]))), level=1)
    in_box(files, change)


@case(["image-pixels"], "content")
def member_picture_changed(files, rng):
    def change(m):
        a = sorted(m)[-1]
        p = np.array(Image.open(io.BytesIO(m[a])))
        p[2] ^= 255
        m[a] = png(p)
    in_box(files, change)


@case(["files-empty"], "content")
def member_empty(files, rng): in_box(files, lambda members: members.update({sorted(members)[-1]: b""}))


@case(["files-cut-off"], "content")
def member_cut(files, rng): in_box(files, lambda members: members.update({sorted(members)[-1]: members[sorted(members)[-1]][:-20]}))


@case(["bytes-appended"], "content")
def member_with_tail(files, rng): in_box(files, lambda members: members.update({sorted(members)[-1]: members[sorted(members)[-1]] + b"trailer"}))


@case(["files-damaged"], "content")
def member_is_a_page(files, rng): in_box(files, lambda members: members.update({sorted(members)[-1]: b"<html><head><title>403</title></head></html>"}))


@case(["files-renamed"], "content")
def member_renamed(files, rng): in_box(files, lambda members: members.update({"train/zz.png": members.pop(sorted(members)[-1])}))


@case(["files-other-part"], "answers")
def member_in_the_other_part(files, rng):
    def change(m):
        a = sorted(k for k in m if k.startswith("test/"))[0]
        m[a.replace("test/", "train/")] = m.pop(a)
    in_box(files, change)


@case([{"files-damaged"}], "content")
def page_instead_of_archive(files, rng): files[BOX] = b"<!DOCTYPE html><html><body>Please sign in</body></html>"


@case(["archive-unpacked"], "form")
def archive_in_a_directory(files, rng): files.update({f"public/images/{k}": v for k, v in members_of(files.pop(BOX)).items()})


@case(["line-ends"], "form")
def line_ends_in_a_nest(files, rng): in_nest(files, lambda members: members.update({"in/table.csv": members["in/table.csv"].replace(b"\n", b"\r\n")}))


@case(["labels-changed"], "answers")
def label_in_a_nest(files, rng): in_nest(files, lambda members: column(members, "in/table.csv", "label", lambda row, value: "1.5" if row == 3 else value))


@case([{"document-layout"}, {"key-order"}], "form")
def document_in_a_nest(files, rng): in_nest(files, lambda members: members.update({"in/doc.json": json.dumps(json.loads(members["in/doc.json"]), indent=2, sort_keys=True).encode()}))


@case(["final-newline"], "form")
def last_line_end_in_a_nest(files, rng): in_nest(files, lambda members: members.update({"in/plain.txt": members["in/plain.txt"].rstrip()}))


@case(["image-pixels"], "content")
def picture_in_a_nest(files, rng): in_nest(files, lambda members: members.update({"in/view.jpg": jpeg(np.array(Image.open(io.BytesIO(members["in/view.jpg"])))[:, ::-1])}))


@case(["files-renamed"], "content")
def renamed_in_a_nest(files, rng): in_nest(files, lambda members: members.update({"in/view2.jpg": members.pop("in/view.jpg")}))


@case(["column-types"], "form")
def array_type_in_a_nest(files, rng): in_outer(files, lambda members: members.update({"outer/array.npy": npy(np.load(io.BytesIO(members["outer/array.npy"])).astype("<i4"))}))


@case(["values-changed"], "content")
def packed_table_in_a_nest(files, rng): in_outer(files, lambda members: members.update({"outer/pair.csv.gz": pack(gzip.decompress(members["outer/pair.csv.gz"]).replace(b"7,21", b"7,22"))}))


@case(["files-surplus"], "answers")
def answers_in_a_nest(files, rng): in_nest(files, lambda members: members.update({"in/gold.csv": files[ANSWERS_CSV]}))


# ---- other files

@case(["line-ends"], "form")
def notes_with_line_ends(files, rng):
    for p in [p for p in files if p.startswith("public/notes/")]:
        files[p] = files[p].replace(b"\n", b"\r\n")


@case(["encoding"], "form")
def notes_in_latin_1(files, rng):
    p = next(p for p in sorted(files) if p.startswith("public/notes/") and "è" in files[p].decode())
    files[p] = files[p].decode().encode("latin-1")


@case(["files-swapped"], "answers")
def notes_of_test_swapped(files, rng):
    a, b = sorted(p for p in files if p.startswith("public/notes/test/"))[:2]
    files[a], files[b] = files[b], files[a]


@case(["files-swapped"], "answers")
def calls_of_test_swapped(files, rng):
    a, b = sorted(p for p in files if p.startswith("public/calls/test/"))[:2]
    files[a], files[b] = files[b], files[a]


@case([{"files-renamed"}], "content")
def calls_renamed_by_number(files, rng):
    for n, p in enumerate(sorted(p for p in files if p.startswith("public/calls/train/"))):
        files[f"public/calls/train/{n:04d}.wav"] = files.pop(p)


@case([{"files-other-part"}], "answers")
def a_call_in_the_other_part(files, rng):
    p = first(files, "public/calls/test/")
    files[p.replace("/test/", "/train/")] = files.pop(p)


@case([{"files-cut-off"}], "content")
def call_cut(files, rng):
    p = first(files, "public/calls/train/")
    files[p] = files[p][:-300]


@case([{"files-changed", "values-changed"}], "content")
def box_moved(files, rng): text_of(files, "public/boxes.xml", lambda text: text.replace('x="', 'x="1', 1))


@case([{"line-ends"}], "form")
def boxes_with_line_ends(files, rng): text_of(files, "public/boxes.xml", lambda text: text.replace("\n", "\r\n"))


@case(["key-order"], "form")
def keys_of_lines(files, rng): files["public/people.jsonl"] = "".join(json.dumps(dict(reversed(json.loads(line).items()))) + "\n" for line in files["public/people.jsonl"].splitlines()).encode()


@case(["row-order"], "none")
def lines_sorted(files, rng): text_of(files, "public/people.jsonl", lambda text: "".join(line + "\n" for line in sorted(text.splitlines())))


@case(["columns-added"], "answers")
def answers_in_lines(files, rng):
    answers = dict(rows_of(files[ANSWERS_CSV])[1:])
    files["public/people.jsonl"] = "".join(json.dumps({**json.loads(line), "score": float(answers[json.loads(line)["id"]])}) + "\n" for line in files["public/people.jsonl"].splitlines()).encode()


@case([{"columns-added", "values-changed", "rows-added"}], "answers")
def answers_in_a_document(files, rng):
    answers = dict(rows_of(files[ANSWERS_CSV])[1:])
    files["public/index.json"] = json.dumps({k: {**v, "z": float(answers[k])} for k, v in json.loads(files["public/index.json"]).items()}).encode()


@case([{"float-rounded", "values-changed"}], "content")
def document_rounded(files, rng): files["public/index.json"] = json.dumps({k: {**v, "h": round(v["h"], 1)} for k, v in json.loads(files["public/index.json"]).items()}).encode()


@case([{"letter-case", "values-changed"}], "content")
def texts_of_document_in_capitals(files, rng): files["public/index.json"] = json.dumps({k: {**v, "k": ["R", "S"]} for k, v in json.loads(files["public/index.json"]).items()}).encode()


@case(["files-damaged"], "content")
def document_packed(files, rng): files["public/index.json"] = gzip.compress(files["public/index.json"])


@case([{"values-changed"}], "content")
def not_a_number_in_an_array(files, rng):
    a = np.load(io.BytesIO(files["public/depth.npy"]))
    a[3, 1] = np.nan
    files["public/depth.npy"] = npy(a)


@case([{"float-single"}, {"column-types"}], "form")
def array_of_singles(files, rng): files["public/depth.npy"] = npy(np.load(io.BytesIO(files["public/depth.npy"])).astype("<f4"))


@case([{"files-renamed"}], "content")
def array_of_another_name(files, rng):
    a = np.load(io.BytesIO(files["public/whole.npz"]))
    files["public/whole.npz"] = npz(arr_0=a["left"], right=a["right"])


@case([{"values-changed"}], "content")
def array_in_npz(files, rng):
    a = dict(np.load(io.BytesIO(files["public/whole.npz"])))
    a["left"][2, 1] += 1
    files["public/whole.npz"] = npz(**a)


@case([{"files-changed", "values-changed"}], "content")
def gain_changed(files, rng): files["public/rig.mat"] = mat({"gain": rng.normal(0, 1, 6), "name": "rig seven"})


@case([{"rows-missing", "files-changed"}], "content")
def record_removed(files, rng):
    size = int.from_bytes(files["public/part.tfrec"][:8], "little") + 16
    files["public/part.tfrec"] = files["public/part.tfrec"][size:]


@case(["files-surplus"], "content")
def finder_directory(files, rng): files.update({"public/__MACOSX/._test.csv": b"\0\5\x16\7" + b"\0" * 60, "public/.ipynb_checkpoints/x.txt": b"{}"})


@case(["files-surplus"], "answers")
def answers_in_files_of_items(files, rng): files.update({f"public/labels/{i}.txt": f"{v}\n".encode() for i, v in rows_of(files[ANSWERS_CSV])[1:]})


@case(["files-surplus"], "answers")
def answers_in_names(files, rng): files.update({f"public/crops/{i}_{v}.txt": b"." for i, v in rows_of(files[ANSWERS_CSV])[1:]})


@case(["files-surplus"], "answers")
def answers_as_an_array(files, rng): files["public/y.npy"] = npy(np.array([float(row[1]) for row in rows_of(files[ANSWERS_CSV])[1:]]))


@case(["files-surplus"], "answers")
def answers_packed(files, rng): files["public/old/solution.csv.gz"] = gzip.compress(files[ANSWERS_CSV])


@case(["files-surplus"], "answers")
def answers_as_lines(files, rng): files["public/y.txt"] = "".join(row[1] + "\n" for row in rows_of(files[ANSWERS_CSV])[1:]).encode()


@case([{"files-missing"}], "content")
def directory_removed(files, rng):
    for p in [p for p in files if p.startswith("public/calls/train/")]:
        files.pop(p)


@case([{"file-names-case"}], "content")
def directory_in_capitals(files, rng):
    for p in [p for p in files if p.startswith("public/calls/")]:
        files[p.replace("/calls/", "/Calls/")] = files.pop(p)
