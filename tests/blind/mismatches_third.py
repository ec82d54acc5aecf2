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
A, T, S, R = "private/answers.csv", "public/test.csv", "public/sample_submission.csv", "public/train.csv"
PACKED, BOX, NEST = "public/history.csv.gz", "public/images.zip", "public/nest.zip"


def case(causes, harm, by_place=False):
    def register(function):
        wanted = [one if isinstance(one, set) else {one} for one in causes]
        CASES[function.__name__.replace("_", "-")] = (function, wanted, harm, by_place)
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
    files[R] = to_csv(head + ["label"], [r + [label[i]] for r, i in zip(rows(train), train)])
    files[T] = to_csv(head, rows(test))
    files[S] = to_csv(["id", "label"], [[ids[i], "12.0"] for i in test])
    files[A] = to_csv(["id", "label"], [[ids[i], label[i]] for i in test])
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


def in_box(f, change):
    members = members_of(f[BOX])
    change(members)
    f[BOX] = zipped(list(members.items()))


def in_nest(f, change):
    """Changes members of the tar archive inside the zip archive."""
    outer = members_of(f[NEST])
    inner = untar(outer["outer/data.tar.gz"])
    change(inner)
    outer["outer/data.tar.gz"] = tar(inner)
    f[NEST] = zipped(list(outer.items()))


def in_outer(f, change):
    outer = members_of(f[NEST])
    change(outer)
    f[NEST] = zipped(list(outer.items()))


def packed(f, change): f[PACKED] = pack(change(gzip.decompress(f[PACKED]).decode()).encode())


def packed_cells(f, name, change):
    part = {"x": gzip.decompress(f[PACKED])}
    column(part, "x", name, change)
    f[PACKED] = pack(part["x"])


@case([], "equal")
def nothing(f, r): pass


# ---- the answers

@case(["labels-changed"], "answers")
def one_measured_answer(f, r): column(f, A, "label", lambda n, v: f"{float(v) + 1:.6f}" if n == 20 else v)


@case([{"float-rounded"}], "answers")
def answers_rounded(f, r): column(f, A, "label", lambda n, v: f"{float(v):.1f}")


@case([{"number-spelling"}], "form")
def answers_with_exponents(f, r): column(f, A, "label", lambda n, v: f"{float(v):.8e}")


@case([{"labels-changed"}], "answers")
def two_ids_exchanged(f, r):
    ids = [row[0] for row in rows_of(f[A])[1:]]
    ids[3], ids[30] = ids[30], ids[3]
    column(f, A, "id", lambda n, v: ids[n])
    table(f, A, lambda rows: rows[:1] + sorted(rows[1:]))
    mine = {row[0]: n for n, row in enumerate(rows_of(f[T])[1:])}
    table(f, A, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: mine[row[0]]))


@case([{"labels-changed"}], "answers")
def answers_moved_by_one_row(f, r):
    labels = [row[1] for row in rows_of(f[A])[1:]]
    column(f, A, "label", lambda n, v: labels[n - 1])


@case([{"values-changed", "float-rounded", "rows-missing", "number-spelling"}], "answers")
def ids_of_answers_through_doubles(f, r): column(f, A, "id", lambda n, v: str(int(float(v))))


@case([{"number-spelling"}], "answers")
def ids_of_answers_with_decimals(f, r): column(f, A, "id", lambda n, v: v + ".0")


@case([{"number-spelling"}], "content")
def ids_of_sample_with_decimals(f, r): column(f, S, "id", lambda n, v: v + ".0")


@case(["columns-missing"], "answers")
def answers_without_labels(f, r): table(f, A, lambda rows: [row[:1] for row in rows])


@case(["columns-added"], "answers")
def answers_with_a_column(f, r): table(f, A, lambda rows: [row + ["Usage" if n == 0 else ["Public", "Private"][n % 2]] for n, row in enumerate(rows)])


@case(["index-column"], "form")
def answers_with_an_index(f, r): table(f, A, lambda rows: [["" if n == 0 else str(n - 1)] + row for n, row in enumerate(rows)])


@case([{"rows-repeated"}], "answers")
def answers_twice(f, r): table(f, A, lambda rows: rows + rows[1:])


@case([{"rows-added"}], "answers")
def train_rows_in_answers(f, r): table(f, A, lambda rows: rows + [[row[0], row[-1]] for row in rows_of(f[R])[1:11]])


@case([{"missing-words"}, {"labels-changed"}], "answers")
def gaps_in_answers_and_words(f, r):
    column(f, A, "label", lambda n, v: "" if n in (4, 9) else v)
    column(f, T, "step", lambda n, v: v or "NA")


@case(["files-damaged"], "answers")
def answers_gzipped(f, r): f[A] = gzip.compress(f[A])


@case(["files-damaged", "line-ends"], "answers")
def answers_zipped_with_line_ends(f, r): f[A] = zipped([("answers.csv", f[A].replace(b"\n", b"\r\n"))])


@case([{"files-damaged", "document-layout", "not-classified", "files-changed"}], "answers")
def answers_as_json_under_csv(f, r): f[A] = json.dumps([dict(zip(("id", "label"), row)) for row in rows_of(f[A])[1:]]).encode()


@case([{"files-changed", "files-damaged"}], "answers")
def zeros_in_answers(f, r): f[A] = f[A][:400] + b"\0" * 64 + f[A][464:]


@case(["row-order", "line-ends", "byte-order-mark"], "form")
def three_forms_of_answers(f, r):
    table(f, A, lambda rows: rows[:1] + rows[:0:-1])
    f[A] = b"\xef\xbb\xbf" + f[A].replace(b"\n", b"\r\n")


@case(["row-order"], "none")
def answers_sorted_by_label(f, r): table(f, A, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: float(row[1])))


# ---- public tables

@case([{"float-last-digit"}], "form")
def last_digits(f, r): column(f, R, "mass", lambda n, v: repr(float(np.nextafter(float(v), 1e9))))


@case([{"float-single"}], "form")
def single_precision(f, r): column(f, R, "mass", lambda n, v: repr(float(np.float32(float(v)))))


@case([{"number-spelling", "column-types"}], "form")
def integers_became_floats(f, r): column(f, R, "step", lambda n, v: v + ".0" if v else v)


@case([{"number-spelling", "values-changed"}], "content")
def thousands_separated(f, r): column(f, R, "amount", lambda n, v: f"{int(v):,}")


@case([{"delimiter"}], "form")
def bars(f, r): table(f, R, lambda rows: None, delimiter="|")


@case([{"missing-words"}], "form")
def question_marks(f, r): column(f, T, "step", lambda n, v: v or "None")


@case([{"values-changed"}], "content")
def gaps_filled_with_zero(f, r): column(f, T, "step", lambda n, v: v or "0")


@case([{"letter-case", "columns-renamed"}], "content")
def header_in_capitals(f, r): text_of(f, R, lambda t: t.split("\n", 1)[0].upper() + "\n" + t.split("\n", 1)[1])


@case([{"mojibake"}, {"line-ends"}], "content")
def read_as_latin_on_windows(f, r): f[T] = f[T].decode("latin-1").replace("\n", "\r\n").encode()


@case([{"other-split"}], "answers")
def another_split(f, r):
    train, test, answers = rows_of(f[R]), rows_of(f[T]), rows_of(f[A])
    labels = dict(answers[1:])
    rows = train[1:] + [row + [labels[row[0]]] for row in test[1:]]
    order = random.Random(5).sample(range(len(rows)), len(rows))
    rows = [rows[k] for k in order]
    f[R] = to_csv(train[0], rows[:140])
    f[T] = to_csv(test[0], [row[:-1] for row in rows[140:]])
    f[A] = to_csv(answers[0], [[row[0], row[-1]] for row in rows[140:]])
    f[S] = to_csv(["id", "label"], [[row[0], "12.0"] for row in rows[140:]])


@case(["columns-added"], "answers")
def answers_in_another_unit_in_test(f, r):
    answers = [row[1] for row in rows_of(f[A])[1:]]
    table(f, T, lambda rows: [row + ["fahrenheit" if n == 0 else f"{float(answers[n - 1]) * 1.8 + 32:.6f}"] for n, row in enumerate(rows)])


@case(["columns-added"], "answers")
def answers_in_test_in_another_order(f, r):
    answers = dict(rows_of(f[A])[1:])
    table(f, T, lambda rows: [row + ["label" if n == 0 else answers[row[0]]] for n, row in enumerate(rows[:1] + sorted(rows[1:]))])
    mine = {row[0]: n for n, row in enumerate(rows_of(f[A])[1:])}
    table(f, T, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: mine[row[0]]))


@case(["values-changed"], "content")
def sample_holds_a_tenth(f, r):
    answers = [row[1] for row in rows_of(f[A])[1:]]
    column(f, S, "label", lambda n, v: answers[n] if n % 10 == 3 else v)


@case(["row-order"], "none")
def sample_sorted(f, r): table(f, S, lambda rows: rows[:1] + sorted(rows[1:]))


# ---- packed tables and archives

@case([{"files-damaged"}], "content")
def packed_twice(f, r): f[PACKED] = gzip.compress(f[PACKED])


@case([{"files-damaged"}], "content")
def plain_under_gz(f, r): f[PACKED] = gzip.decompress(f[PACKED])


@case(["archive-repacked"], "none")
def packed_at_another_level(f, r): f[PACKED] = gzip.compress(gzip.decompress(f[PACKED]), 1)


@case(["files-cut-off"], "content")
def packed_cut(f, r): f[PACKED] = f[PACKED][:-4]


@case(["bytes-appended"], "content")
def packed_with_tail(f, r): f[PACKED] += b"\n\nEOF"


@case(["line-ends"], "form")
def line_ends_when_packed(f, r): packed(f, lambda t: t.replace("\n", "\r\n"))


@case(["byte-order-mark"], "form")
def mark_when_packed(f, r): packed(f, lambda t: "\ufeff" + t)


@case(["labels-changed"], "answers")
def label_when_packed(f, r): packed_cells(f, "label", lambda n, v: f"{float(v) + 2:.6f}" if n == 8 else v)


@case(["values-changed"], "content")
def value_when_packed(f, r): packed_cells(f, "value", lambda n, v: "7.7777" if n == 8 else v)


@case(["rows-missing"], "content")
def rows_gone_when_packed(f, r): packed(f, lambda t: "\n".join(t.splitlines()[:-12]) + "\n")


@case(["rows-added"], "answers")
def test_rows_when_packed(f, r):
    answers = rows_of(f[A])[1:]
    packed(f, lambda t: t + "".join(f"{i},2020-02-01,0.1,{v}\n" for i, v in answers))


@case(["file-packed"], "form")
def packed_file_without_packing(f, r): f[PACKED[:-3]] = gzip.decompress(f.pop(PACKED))


@case(["files-swapped"], "answers")
def test_members_swapped(f, r):
    def change(m):
        a, b = sorted(k for k in m if k.startswith("test/"))[:2]
        m[a], m[b] = m[b], m[a]
    in_box(f, change)


@case(["files-swapped"], "content")
def train_members_swapped(f, r):
    def change(m):
        a, b = sorted(k for k in m if k.startswith("train/"))[:2]
        m[a], m[b] = m[b], m[a]
    in_box(f, change)


@case(["image-bytes"], "form")
def member_picture_saved_again(f, r):
    def change(m):
        a = sorted(m)[0]
        m[a] = png(np.array(Image.open(io.BytesIO(m[a]))), level=1)
    in_box(f, change)


@case(["image-pixels"], "content")
def member_picture_changed(f, r):
    def change(m):
        a = sorted(m)[-1]
        p = np.array(Image.open(io.BytesIO(m[a])))
        p[2] ^= 255
        m[a] = png(p)
    in_box(f, change)


@case(["files-empty"], "content")
def member_empty(f, r): in_box(f, lambda m: m.update({sorted(m)[-1]: b""}))


@case(["files-cut-off"], "content")
def member_cut(f, r): in_box(f, lambda m: m.update({sorted(m)[-1]: m[sorted(m)[-1]][:-20]}))


@case(["bytes-appended"], "content")
def member_with_tail(f, r): in_box(f, lambda m: m.update({sorted(m)[-1]: m[sorted(m)[-1]] + b"trailer"}))


@case(["files-damaged"], "content")
def member_is_a_page(f, r): in_box(f, lambda m: m.update({sorted(m)[-1]: b"<html><head><title>403</title></head></html>"}))


@case(["files-renamed"], "content")
def member_renamed(f, r): in_box(f, lambda m: m.update({"train/zz.png": m.pop(sorted(m)[-1])}))


@case(["files-other-part"], "answers")
def member_in_the_other_part(f, r):
    def change(m):
        a = sorted(k for k in m if k.startswith("test/"))[0]
        m[a.replace("test/", "train/")] = m.pop(a)
    in_box(f, change)


@case([{"files-damaged"}], "content")
def page_instead_of_archive(f, r): f[BOX] = b"<!DOCTYPE html><html><body>Please sign in</body></html>"


@case(["archive-unpacked"], "form")
def archive_in_a_directory(f, r): f.update({f"public/images/{k}": v for k, v in members_of(f.pop(BOX)).items()})


@case(["line-ends"], "form")
def line_ends_in_a_nest(f, r): in_nest(f, lambda m: m.update({"in/table.csv": m["in/table.csv"].replace(b"\n", b"\r\n")}))


@case(["labels-changed"], "answers")
def label_in_a_nest(f, r): in_nest(f, lambda m: column(m, "in/table.csv", "label", lambda n, v: "1.5" if n == 3 else v))


@case([{"document-layout"}, {"key-order"}], "form")
def document_in_a_nest(f, r): in_nest(f, lambda m: m.update({"in/doc.json": json.dumps(json.loads(m["in/doc.json"]), indent=2, sort_keys=True).encode()}))


@case(["final-newline"], "form")
def last_line_end_in_a_nest(f, r): in_nest(f, lambda m: m.update({"in/plain.txt": m["in/plain.txt"].rstrip()}))


@case(["image-pixels"], "content")
def picture_in_a_nest(f, r): in_nest(f, lambda m: m.update({"in/view.jpg": jpeg(np.array(Image.open(io.BytesIO(m["in/view.jpg"])))[:, ::-1])}))


@case(["files-renamed"], "content")
def renamed_in_a_nest(f, r): in_nest(f, lambda m: m.update({"in/view2.jpg": m.pop("in/view.jpg")}))


@case(["column-types"], "form")
def array_type_in_a_nest(f, r): in_outer(f, lambda m: m.update({"outer/array.npy": npy(np.load(io.BytesIO(m["outer/array.npy"])).astype("<i4"))}))


@case(["values-changed"], "content")
def packed_table_in_a_nest(f, r): in_outer(f, lambda m: m.update({"outer/pair.csv.gz": pack(gzip.decompress(m["outer/pair.csv.gz"]).replace(b"7,21", b"7,22"))}))


@case(["files-surplus"], "answers")
def answers_in_a_nest(f, r): in_nest(f, lambda m: m.update({"in/gold.csv": f[A]}))


# ---- other files

@case(["line-ends"], "form")
def notes_with_line_ends(f, r):
    for p in [p for p in f if p.startswith("public/notes/")]:
        f[p] = f[p].replace(b"\n", b"\r\n")


@case(["encoding"], "form")
def notes_in_latin(f, r):
    p = next(p for p in sorted(f) if p.startswith("public/notes/") and "è" in f[p].decode())
    f[p] = f[p].decode().encode("latin-1")


@case(["files-swapped"], "answers")
def notes_of_test_swapped(f, r):
    a, b = sorted(p for p in f if p.startswith("public/notes/test/"))[:2]
    f[a], f[b] = f[b], f[a]


@case(["files-swapped"], "answers")
def calls_of_test_swapped(f, r):
    a, b = sorted(p for p in f if p.startswith("public/calls/test/"))[:2]
    f[a], f[b] = f[b], f[a]


@case([{"files-renamed"}], "content")
def calls_by_number(f, r):
    for n, p in enumerate(sorted(p for p in f if p.startswith("public/calls/train/"))):
        f[f"public/calls/train/{n:04d}.wav"] = f.pop(p)


@case([{"files-other-part"}], "answers")
def a_call_in_the_other_part(f, r):
    p = first(f, "public/calls/test/")
    f[p.replace("/test/", "/train/")] = f.pop(p)


@case([{"files-cut-off"}], "content")
def call_cut(f, r):
    p = first(f, "public/calls/train/")
    f[p] = f[p][:-300]


@case([{"files-changed", "values-changed"}], "content")
def box_moved(f, r): text_of(f, "public/boxes.xml", lambda t: t.replace('x="', 'x="1', 1))


@case([{"line-ends"}], "form")
def boxes_with_line_ends(f, r): text_of(f, "public/boxes.xml", lambda t: t.replace("\n", "\r\n"))


@case(["key-order"], "form")
def keys_of_lines(f, r): f["public/people.jsonl"] = "".join(json.dumps(dict(reversed(json.loads(l).items()))) + "\n" for l in f["public/people.jsonl"].splitlines()).encode()


@case(["row-order"], "none")
def lines_sorted(f, r): text_of(f, "public/people.jsonl", lambda t: "".join(l + "\n" for l in sorted(t.splitlines())))


@case(["columns-added"], "answers")
def answers_in_lines(f, r):
    answers = dict(rows_of(f[A])[1:])
    f["public/people.jsonl"] = "".join(json.dumps({**json.loads(l), "score": float(answers[json.loads(l)["id"]])}) + "\n" for l in f["public/people.jsonl"].splitlines()).encode()


@case([{"columns-added", "values-changed", "rows-added"}], "answers")
def answers_in_a_document(f, r):
    answers = dict(rows_of(f[A])[1:])
    f["public/index.json"] = json.dumps({k: {**v, "z": float(answers[k])} for k, v in json.loads(f["public/index.json"]).items()}).encode()


@case([{"float-rounded", "values-changed"}], "content")
def document_rounded(f, r): f["public/index.json"] = json.dumps({k: {**v, "h": round(v["h"], 1)} for k, v in json.loads(f["public/index.json"]).items()}).encode()


@case([{"letter-case", "values-changed"}], "content")
def texts_of_document_in_capitals(f, r): f["public/index.json"] = json.dumps({k: {**v, "k": ["R", "S"]} for k, v in json.loads(f["public/index.json"]).items()}).encode()


@case(["files-damaged"], "content")
def document_packed(f, r): f["public/index.json"] = gzip.compress(f["public/index.json"])


@case([{"values-changed"}], "content")
def not_a_number_in_an_array(f, r):
    a = np.load(io.BytesIO(f["public/depth.npy"]))
    a[3, 1] = np.nan
    f["public/depth.npy"] = npy(a)


@case([{"float-single"}, {"column-types"}], "form")
def array_of_singles(f, r): f["public/depth.npy"] = npy(np.load(io.BytesIO(f["public/depth.npy"])).astype("<f4"))


@case([{"files-renamed"}], "content")
def array_of_another_name(f, r):
    a = np.load(io.BytesIO(f["public/whole.npz"]))
    f["public/whole.npz"] = npz(arr_0=a["left"], right=a["right"])


@case([{"values-changed"}], "content")
def array_in_npz(f, r):
    a = dict(np.load(io.BytesIO(f["public/whole.npz"])))
    a["left"][2, 1] += 1
    f["public/whole.npz"] = npz(**a)


@case([{"files-changed", "values-changed"}], "content")
def gain_changed(f, r): f["public/rig.mat"] = mat({"gain": r.normal(0, 1, 6), "name": "rig seven"})


@case([{"rows-missing", "files-changed"}], "content")
def record_gone(f, r):
    size = int.from_bytes(f["public/part.tfrec"][:8], "little") + 16
    f["public/part.tfrec"] = f["public/part.tfrec"][size:]


@case(["files-surplus"], "content")
def finder_directory(f, r): f.update({"public/__MACOSX/._test.csv": b"\0\5\x16\7" + b"\0" * 60, "public/.ipynb_checkpoints/x.txt": b"{}"})


@case(["files-surplus"], "answers")
def answers_in_files_of_items(f, r): f.update({f"public/labels/{i}.txt": f"{v}\n".encode() for i, v in rows_of(f[A])[1:]})


@case(["files-surplus"], "answers")
def answers_in_names(f, r): f.update({f"public/crops/{i}_{v}.txt": b"." for i, v in rows_of(f[A])[1:]})


@case(["files-surplus"], "answers")
def answers_as_an_array(f, r): f["public/y.npy"] = npy(np.array([float(row[1]) for row in rows_of(f[A])[1:]]))


@case(["files-surplus"], "answers")
def answers_packed(f, r): f["public/old/solution.csv.gz"] = gzip.compress(f[A])


@case(["files-surplus"], "answers")
def answers_as_lines(f, r): f["public/y.txt"] = "".join(row[1] + "\n" for row in rows_of(f[A])[1:]).encode()


@case([{"files-missing"}], "content")
def directory_gone(f, r):
    for p in [p for p in f if p.startswith("public/calls/train/")]:
        f.pop(p)


@case([{"file-names-case"}], "content")
def directory_in_capitals(f, r):
    for p in [p for p in f if p.startswith("public/calls/")]:
        f[p.replace("/calls/", "/Calls/")] = f.pop(p)
