"""Mismatches between two prepared trees, each with the causes and the worst harm that the audit must report.

A case is a function that changes the tree of the other program. For each cause that the audit must report, the case has a
set of accepted ids. Clean twins change nothing that matters, and expect no cause or a harmless one.
"""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np

from competition import jpeg, npy, picture, png, to_csv, zipped

CASES = {}


def case(causes, harm, by_place=False):
    """Registers a change. `causes` contains, for each cause that must be reported, the set of accepted ids."""

    def register(function):
        wanted = [one if isinstance(one, set) else {one} for one in causes]
        CASES[function.__name__.replace("_", "-")] = (function, wanted, harm, by_place)
        return function

    return register


def tree(seed):
    """Returns the files of a prepared tree: tables, pictures, documents and archives. Ids are codes with leading zeros."""
    rng = np.random.default_rng(seed)
    files = {}
    n_train, n_test = 120, 60
    ids = [f"{v:06d}" for v in rng.choice(900_000, n_train + n_test, replace=False)]
    ids[3], ids[n_train + 2] = "000417", "000312"
    label = rng.integers(0, 3, n_train + n_test)
    value = rng.normal(50, 12, n_train + n_test)
    text = [f"note {rng.integers(0, 999)} of {w}" for w in rng.choice(["ash", "elm", "oak"], n_train + n_test)]
    gap = ["" if rng.random() < 0.2 else str(rng.integers(1, 99)) for _ in ids]
    rows = lambda part: [[ids[i], f"{value[i]:.6f}", text[i], gap[i]] for i in part]
    train, test = range(n_train), range(n_train, n_train + n_test)
    head = ["id", "value", "text", "gap"]
    files["public/train.csv"] = to_csv(head + ["label"], [r + [label[i]] for r, i in zip(rows(train), train)])
    files["public/test.csv"] = to_csv(head, rows(test))
    files["public/sample_submission.csv"] = to_csv(["id", "label"], [[ids[i], 0] for i in test])
    files["private/answers.csv"] = to_csv(["id", "label"], [[ids[i], label[i]] for i in test])
    for i in list(train)[:8]:
        files[f"public/train/{ids[i]}.png"] = png(picture(rng, 0, 24))
    for i in list(test)[:8]:
        files[f"public/test/{ids[i]}.png"] = png(picture(rng, 0, 24))
    files["public/extra.json"] = json.dumps([{"id": ids[i], "size": float(f"{value[i]:.3f}"), "tags": ["a", text[i]]} for i in train]).encode()
    files["public/lines.json"] = "".join(json.dumps({"id": ids[i], "size": round(value[i], 3)}) + "\n" for i in train).encode()
    files["public/array.npy"] = npy(rng.normal(0, 1, (40, 3)))
    inner = zipped([(f"deep/{k}.csv", to_csv(["a", "b"], [[k, j] for j in range(9)])) for k in range(3)])
    files["public/more.zip"] = zipped([("a.csv", to_csv(["x", "y"], [[j, j * j] for j in range(30)])), ("inner.zip", inner), ("p.png", png(picture(rng, 0, 24))), ("q.png", png(picture(rng, 1, 24)))])
    return files


def text_of(files, path, change):
    files[path] = change(files[path].decode()).encode()


def cells(files, path, column, change):
    lines = files[path].decode().split("\n")
    at = lines[0].split(",").index(column)
    for number in range(1, len(lines)):
        if lines[number]:
            parts = lines[number].split(",")
            parts[at] = change(number - 1, parts[at])
            lines[number] = ",".join(parts)
    files[path] = "\n".join(lines).encode()


def rezip(files, change):
    with zipfile.ZipFile(io.BytesIO(files["public/more.zip"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    files["public/more.zip"] = zipped(list(members.items()))


A, T, S = "private/answers.csv", "public/test.csv", "public/sample_submission.csv"


@case([], "equal")
def nothing(f, r): pass


@case(["line-ends"], "form")
def crlf_in_train(f, r): text_of(f, "public/train.csv", lambda t: t.replace("\n", "\r\n"))


@case(["line-ends"], "form")
def crlf_in_answers(f, r): text_of(f, A, lambda t: t.replace("\n", "\r\n"))


@case(["line-ends", "labels-changed"], "answers")
def crlf_hides_a_label(f, r):
    cells(f, A, "label", lambda n, v: "7" if n == 5 else v)
    text_of(f, A, lambda t: t.replace("\n", "\r\n"))


@case(["labels-changed"], "answers")
def one_label(f, r): cells(f, A, "label", lambda n, v: str((int(v) + 1) % 3) if n == 11 else v)


@case(["byte-order-mark"], "form")
def mark(f, r): text_of(f, T, lambda t: "\ufeff" + t)


@case(["quoting"], "form")
def quotes(f, r): text_of(f, S, lambda t: "".join('"' + l.replace(",", '","') + '"\n' for l in t.splitlines()))


@case(["final-newline"], "form")
def last_line_end(f, r): text_of(f, T, str.rstrip)


@case(["index-column"], "form")
def index(f, r): text_of(f, S, lambda t: "".join(("" if n == 0 else str(n - 1)) + "," + l + "\n" for n, l in enumerate(t.splitlines())))


@case(["missing-words"], "form")
def words_for_missing(f, r): cells(f, T, "gap", lambda n, v: v or "NaN")


@case(["leading-zeros"], "content")
def ids_lost_zeros_in_test(f, r): cells(f, T, "id", lambda n, v: str(int(v)))


@case(["leading-zeros"], "answers")
def ids_lost_zeros_in_answers(f, r): cells(f, A, "id", lambda n, v: str(int(v)))


@case(["leading-zeros", "row-order"], "answers")
def ids_lost_zeros_and_rows_sorted(f, r):
    cells(f, A, "id", lambda n, v: str(int(v)))
    def order(t):
        lines = t.splitlines()
        return "\n".join([lines[0]] + sorted(lines[1:])) + "\n"
    text_of(f, A, order)


@case([{"float-rounded"}], "content")
def rounded(f, r): cells(f, "public/train.csv", "value", lambda n, v: f"{float(v):.2f}")


@case(["values-changed"], "content")
def one_value(f, r): cells(f, "public/train.csv", "value", lambda n, v: "99.5" if n == 7 else v)


@case(["row-order"], "none")
def rows_of_answers_by_id(f, r): text_of(f, A, lambda t: "\n".join([t.splitlines()[0]] + t.splitlines()[:0:-1]) + "\n")


@case(["row-order"], "answers", by_place=True)
def rows_of_answers_by_place(f, r): text_of(f, A, lambda t: "\n".join([t.splitlines()[0]] + t.splitlines()[:0:-1]) + "\n")


@case(["row-order"], "answers", by_place=True)
def rows_of_sample_by_place(f, r): text_of(f, S, lambda t: "\n".join([t.splitlines()[0]] + t.splitlines()[:0:-1]) + "\n")


@case(["column-order"], "form")
def columns_of_answers(f, r): text_of(f, A, lambda t: "".join(",".join(l.split(",")[::-1]) + "\n" for l in t.splitlines()))


@case(["column-order"], "answers", by_place=True)
def columns_of_answers_by_place(f, r): text_of(f, A, lambda t: "".join(",".join(l.split(",")[::-1]) + "\n" for l in t.splitlines()))


@case(["rows-missing"], "content")
def rows_gone(f, r): text_of(f, "public/train.csv", lambda t: "\n".join(t.splitlines()[:-9]) + "\n")


@case(["rows-missing"], "answers")
def answers_gone(f, r): text_of(f, A, lambda t: "\n".join(l for n, l in enumerate(t.splitlines()) if n not in (4, 9)) + "\n")


@case(["rows-repeated"], "content")
def rows_twice(f, r): text_of(f, "public/train.csv", lambda t: t + "\n".join(t.splitlines()[3:6]) + "\n")


@case(["columns-added"], "answers")
def answers_in_test(f, r):
    labels = [l.split(",")[1] for l in f[A].decode().splitlines()]
    text_of(f, T, lambda t: "".join(f"{l},{a}\n" for l, a in zip(t.splitlines(), labels)))


@case(["columns-added"], "answers")
def answers_in_test_by_another_name(f, r):
    labels = ["grade"] + [l.split(",")[1] for l in f[A].decode().splitlines()[1:]]
    text_of(f, T, lambda t: "".join(f"{l},{a}\n" for l, a in zip(t.splitlines(), labels)))


@case(["columns-added"], "content")
def noise_in_test(f, r): text_of(f, T, lambda t: "".join(f"{l},{'noise' if n == 0 else r.integers(0, 9)}\n" for n, l in enumerate(t.splitlines())))


@case(["files-surplus"], "answers")
def answers_copied(f, r): f["public/solution.csv"] = f[A]


@case(["files-surplus"], "content")
def another_file(f, r): f["public/readme.txt"] = b"hello\n"


@case([{"values-changed", "labels-changed"}], "answers")
def sample_holds_answers(f, r): f[S] = f[A]


@case(["columns-missing"], "content")
def column_gone(f, r): text_of(f, T, lambda t: "".join(",".join(l.split(",")[:-1]) + "\n" for l in t.splitlines()))


@case(["columns-renamed"], "content")
def column_renamed(f, r): text_of(f, T, lambda t: t.replace("value", "reading", 1))


@case(["files-cut-off"], "content")
def cut_by_one_byte_of_number(f, r): f["public/train.csv"] = f["public/train.csv"][:-2]


@case(["files-cut-off"], "answers")
def answers_cut(f, r): f[A] = f[A][:-5]


@case(["files-cut-off"], "content")
def cut_in_the_middle(f, r): f["public/train.csv"] = f["public/train.csv"][: len(f["public/train.csv"]) // 2 + 3]


@case(["files-cut-off"], "content")
def picture_cut(f, r):
    path = sorted(p for p in f if p.startswith("public/train/"))[0]
    f[path] = f[path][:-1]


@case(["files-cut-off"], "content")
def archive_cut(f, r): f["public/more.zip"] = f["public/more.zip"][:-1]


@case(["bytes-appended"], "content")
def picture_with_tail(f, r):
    path = sorted(p for p in f if p.startswith("public/train/"))[0]
    f[path] += b"<!-- end -->"


@case(["bytes-appended"], "content")
def archive_with_tail(f, r): f["public/more.zip"] += b"garbage"


@case(["bytes-appended"], "content")
def array_with_tail(f, r): f["public/array.npy"] += b"\0" * 16


@case(["bytes-appended"], "answers")
def answers_with_tail(f, r): f[A] += b"<html>error</html>"


@case([{"bytes-appended", "files-damaged"}], "content")
def document_with_tail(f, r): f["public/extra.json"] += b"]"


@case(["files-damaged"], "content")
def gzip_under_csv(f, r): f["public/train.csv"] = gzip.compress(f["public/train.csv"])


@case(["files-damaged"], "answers")
def zip_under_csv(f, r): f[A] = zipped([("answers.csv", f[A])])


@case(["files-damaged"], "content")
def bzip2_under_csv(f, r): f["public/train.csv"] = bz2.compress(f["public/train.csv"])


@case(["files-damaged"], "content")
def xz_under_json(f, r): f["public/extra.json"] = lzma.compress(f["public/extra.json"])


@case(["files-damaged"], "content")
def gzip_under_png(f, r):
    path = sorted(p for p in f if p.startswith("public/train/"))[2]
    f[path] = gzip.compress(f[path])


@case(["files-damaged", "labels-changed"], "answers")
def gzip_hides_a_label(f, r):
    cells(f, A, "label", lambda n, v: str((int(v) + 1) % 3) if n == 11 else v)
    f[A] = gzip.compress(f[A])


@case(["document-layout"], "form")
def json_indented(f, r): f["public/extra.json"] = json.dumps(json.loads(f["public/extra.json"]), indent=1).encode()


@case(["key-order"], "form")
def json_keys(f, r): f["public/extra.json"] = json.dumps([dict(reversed(v.items())) for v in json.loads(f["public/extra.json"])]).encode()


@case(["values-changed"], "content")
def json_value(f, r):
    v = json.loads(f["public/extra.json"]); v[4]["size"] = 3.25
    f["public/extra.json"] = json.dumps(v).encode()


@case(["values-changed"], "content")
def json_not_a_number(f, r):
    v = json.loads(f["public/extra.json"]); v[4]["size"] = float("nan")
    f["public/extra.json"] = json.dumps(v).encode()


@case(["values-changed"], "content")
def json_lines_value(f, r): text_of(f, "public/lines.json", lambda t: t.replace(json.loads(t.splitlines()[5])["id"] + '", "size": ', json.loads(t.splitlines()[5])["id"] + '", "size": 1', 1))


@case(["rows-missing"], "content")
def json_lines_gone(f, r): text_of(f, "public/lines.json", lambda t: "\n".join(t.splitlines()[:5] + t.splitlines()[7:]) + "\n")


@case(["image-bytes"], "form")
def picture_saved_again(f, r):
    from PIL import Image
    path = sorted(p for p in f if p.startswith("public/train/"))[1]
    f[path] = png(np.array(Image.open(io.BytesIO(f[path]))), level=1)


@case(["image-pixels"], "content")
def picture_changed(f, r):
    from PIL import Image
    path = sorted(p for p in f if p.startswith("public/train/"))[1]
    p = np.array(Image.open(io.BytesIO(f[path]))); p[3, 3] ^= 64
    f[path] = png(p)


@case(["files-swapped"], "answers")
def pictures_of_test_swapped(f, r):
    a, b = sorted(p for p in f if p.startswith("public/test/"))[:2]
    f[a], f[b] = f[b], f[a]


@case(["files-swapped"], "content")
def pictures_of_train_swapped(f, r):
    a, b = sorted(p for p in f if p.startswith("public/train/"))[:2]
    f[a], f[b] = f[b], f[a]


@case(["files-swapped"], "answers")
def pictures_in_a_ring(f, r):
    a, b, c = sorted(p for p in f if p.startswith("public/test/"))[:3]
    f[a], f[b], f[c] = f[b], f[c], f[a]


@case(["files-renamed"], "content")
def picture_renamed(f, r):
    path = sorted(p for p in f if p.startswith("public/train/"))[0]
    f["public/train/other.png"] = f.pop(path)


@case(["files-missing"], "content")
def picture_gone(f, r): f.pop(sorted(p for p in f if p.startswith("public/train/"))[0])


@case(["files-missing", "files-surplus"], "answers")
def answers_file_gone(f, r): f.pop(A); f["private/note.txt"] = b"x"


@case(["files-empty"], "content")
def picture_empty(f, r): f[sorted(p for p in f if p.startswith("public/train/"))[0]] = b""


@case(["archive-repacked"], "none")
def archive_packed_again(f, r):
    rezip(f, lambda m: None)
    with zipfile.ZipFile(io.BytesIO(f["public/more.zip"])) as archive:
        members = [(n, archive.read(n)) for n in archive.namelist()]
    f["public/more.zip"] = zipped(members, methods={n: 0 for n, _ in members})


@case(["values-changed"], "content")
def member_of_inner_archive(f, r):
    def change(m):
        with zipfile.ZipFile(io.BytesIO(m["inner.zip"])) as archive:
            inner = [(n, archive.read(n)) for n in archive.namelist()]
        inner[1] = (inner[1][0], inner[1][1].replace(b"1,5", b"1,6"))
        m["inner.zip"] = zipped(inner)
    rezip(f, change)


@case(["files-swapped"], "content")
def members_swapped(f, r):
    def change(m): m["p.png"], m["q.png"] = m["q.png"], m["p.png"]
    rezip(f, change)


@case(["files-missing"], "content")
def member_gone(f, r): rezip(f, lambda m: m.pop("p.png"))


@case(["values-changed"], "content")
def array_value(f, r):
    array = np.load(io.BytesIO(f["public/array.npy"])); array[4, 1] += 1
    f["public/array.npy"] = npy(array)


@case(["array-layout"], "none")
def array_other_order(f, r): f["public/array.npy"] = npy(np.asfortranarray(np.load(io.BytesIO(f["public/array.npy"]))))


@case(["column-types"], "form")
def array_single(f, r):
    array = np.load(io.BytesIO(f["public/array.npy"]))
    f["public/array.npy"] = npy(array.astype(">f8"))


@case(["letter-case"], "content")
def case_of_texts(f, r): cells(f, "public/train.csv", "text", lambda n, v: v.upper())


@case(["blanks"], "form")
def blanks(f, r): cells(f, "public/train.csv", "text", lambda n, v: v + " ")


@case(["number-spelling"], "form")
def integers_as_floats(f, r): cells(f, T, "gap", lambda n, v: v + ".0" if v else v)


@case(["delimiter"], "form")
def semicolons(f, r): text_of(f, T, lambda t: t.replace(",", ";"))


@case(["encoding"], "form")
def wide_characters(f, r): f[T] = ("\ufeff" + f[T].decode()).encode("utf-16-le")


