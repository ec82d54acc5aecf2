"""Mismatches between two prepared trees, each with the causes and the worst harm that the audit must report.

A case is a function that changes the tree of the other program. For each cause that the audit must report, the case has a
set of accepted ids. Some cases change nothing that matters. They expect no cause, or a harmless one.
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


def case(causes, harm, by_position=False):
    """Registers a change. `causes` contains, for each cause that must be reported, an id or the set of accepted ids.

    `harm` is the worst harm that the audit must report. If `by_position` is true, grading pairs rows by position.
    """

    def register(function):
        wanted = [one if isinstance(one, set) else {one} for one in causes]
        CASES[function.__name__.replace("_", "-")] = (function, wanted, harm, by_position)
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


ANSWERS_CSV, TEST_CSV, SAMPLE_CSV = "private/answers.csv", "public/test.csv", "public/sample_submission.csv"


@case([], "equal")
def nothing(files, rng): pass


@case(["line-ends"], "form")
def crlf_in_train(files, rng): text_of(files, "public/train.csv", lambda text: text.replace("\n", "\r\n"))


@case(["line-ends"], "form")
def crlf_in_answers(files, rng): text_of(files, ANSWERS_CSV, lambda text: text.replace("\n", "\r\n"))


@case(["line-ends", "labels-changed"], "answers")
def crlf_hides_a_label(files, rng):
    cells(files, ANSWERS_CSV, "label", lambda row, value: "7" if row == 5 else value)
    text_of(files, ANSWERS_CSV, lambda text: text.replace("\n", "\r\n"))


@case(["labels-changed"], "answers")
def one_label_changed(files, rng): cells(files, ANSWERS_CSV, "label", lambda row, value: str((int(value) + 1) % 3) if row == 11 else value)


@case(["byte-order-mark"], "form")
def byte_order_mark_in_test(files, rng): text_of(files, TEST_CSV, lambda text: "\ufeff" + text)


@case(["quoting"], "form")
def all_fields_of_sample_quoted(files, rng): text_of(files, SAMPLE_CSV, lambda text: "".join('"' + line.replace(",", '","') + '"\n' for line in text.splitlines()))


@case(["final-newline"], "form")
def test_without_last_line_end(files, rng): text_of(files, TEST_CSV, str.rstrip)


@case(["index-column"], "form")
def index_column_in_sample(files, rng): text_of(files, SAMPLE_CSV, lambda text: "".join(("" if n == 0 else str(n - 1)) + "," + line + "\n" for n, line in enumerate(text.splitlines())))


@case(["missing-words"], "form")
def missing_cells_written_as_nan(files, rng): cells(files, TEST_CSV, "gap", lambda row, value: value or "NaN")


@case(["leading-zeros"], "content")
def ids_lost_zeros_in_test(files, rng): cells(files, TEST_CSV, "id", lambda row, value: str(int(value)))


@case(["leading-zeros"], "answers")
def ids_lost_zeros_in_answers(files, rng): cells(files, ANSWERS_CSV, "id", lambda row, value: str(int(value)))


@case(["leading-zeros", "row-order"], "answers")
def ids_lost_zeros_and_rows_sorted(files, rng):
    cells(files, ANSWERS_CSV, "id", lambda row, value: str(int(value)))
    def order(t):
        lines = t.splitlines()
        return "\n".join([lines[0]] + sorted(lines[1:])) + "\n"
    text_of(files, ANSWERS_CSV, order)


@case([{"float-rounded"}], "content")
def values_rounded(files, rng): cells(files, "public/train.csv", "value", lambda row, value: f"{float(value):.2f}")


@case(["values-changed"], "content")
def one_value_changed(files, rng): cells(files, "public/train.csv", "value", lambda row, value: "99.5" if row == 7 else value)


@case(["row-order"], "none")
def answers_reversed_paired_by_id(files, rng): text_of(files, ANSWERS_CSV, lambda text: "\n".join([text.splitlines()[0]] + text.splitlines()[:0:-1]) + "\n")


@case(["row-order"], "answers", by_position=True)
def answers_reversed_paired_by_position(files, rng): text_of(files, ANSWERS_CSV, lambda text: "\n".join([text.splitlines()[0]] + text.splitlines()[:0:-1]) + "\n")


@case(["row-order"], "answers", by_position=True)
def sample_reversed_paired_by_position(files, rng): text_of(files, SAMPLE_CSV, lambda text: "\n".join([text.splitlines()[0]] + text.splitlines()[:0:-1]) + "\n")


@case(["column-order"], "form")
def columns_of_answers_reversed_matched_by_name(files, rng): text_of(files, ANSWERS_CSV, lambda text: "".join(",".join(line.split(",")[::-1]) + "\n" for line in text.splitlines()))


@case(["column-order"], "answers", by_position=True)
def columns_of_answers_reversed_matched_by_position(files, rng): text_of(files, ANSWERS_CSV, lambda text: "".join(",".join(line.split(",")[::-1]) + "\n" for line in text.splitlines()))


@case(["rows-missing"], "content")
def train_rows_removed(files, rng): text_of(files, "public/train.csv", lambda text: "\n".join(text.splitlines()[:-9]) + "\n")


@case(["rows-missing"], "answers")
def answer_rows_removed(files, rng): text_of(files, ANSWERS_CSV, lambda text: "\n".join(line for n, line in enumerate(text.splitlines()) if n not in (4, 9)) + "\n")


@case(["rows-repeated"], "content")
def train_rows_repeated(files, rng): text_of(files, "public/train.csv", lambda text: text + "\n".join(text.splitlines()[3:6]) + "\n")


@case(["columns-added"], "answers")
def answers_as_column_of_test(files, rng):
    labels = [line.split(",")[1] for line in files[ANSWERS_CSV].decode().splitlines()]
    text_of(files, TEST_CSV, lambda text: "".join(f"{l},{a}\n" for l, a in zip(text.splitlines(), labels)))


@case(["columns-added"], "answers")
def answers_as_renamed_column_of_test(files, rng):
    labels = ["grade"] + [line.split(",")[1] for line in files[ANSWERS_CSV].decode().splitlines()[1:]]
    text_of(files, TEST_CSV, lambda text: "".join(f"{l},{a}\n" for l, a in zip(text.splitlines(), labels)))


@case(["columns-added"], "content")
def random_column_in_test(files, rng): text_of(files, TEST_CSV, lambda text: "".join(f"{line},{'noise' if n == 0 else rng.integers(0, 9)}\n" for n, line in enumerate(text.splitlines())))


@case(["files-surplus"], "answers")
def answers_copied_to_public(files, rng): files["public/solution.csv"] = files[ANSWERS_CSV]


@case(["files-surplus"], "content")
def additional_public_file(files, rng): files["public/readme.txt"] = b"hello\n"


@case([{"values-changed", "labels-changed"}], "answers")
def sample_holds_answers(files, rng): files[SAMPLE_CSV] = files[ANSWERS_CSV]


@case(["columns-missing"], "content")
def column_removed(files, rng): text_of(files, TEST_CSV, lambda text: "".join(",".join(line.split(",")[:-1]) + "\n" for line in text.splitlines()))


@case(["columns-renamed"], "content")
def column_renamed(files, rng): text_of(files, TEST_CSV, lambda text: text.replace("value", "reading", 1))


@case(["files-cut-off"], "content")
def cut_by_one_byte_of_number(files, rng): files["public/train.csv"] = files["public/train.csv"][:-2]


@case(["files-cut-off"], "answers")
def answers_cut(files, rng): files[ANSWERS_CSV] = files[ANSWERS_CSV][:-5]


@case(["files-cut-off"], "content")
def train_cut_in_the_middle(files, rng): files["public/train.csv"] = files["public/train.csv"][: len(files["public/train.csv"]) // 2 + 3]


@case(["files-cut-off"], "content")
def picture_cut(files, rng):
    path = sorted(p for p in files if p.startswith("public/train/"))[0]
    files[path] = files[path][:-1]


@case(["files-cut-off"], "content")
def archive_cut(files, rng): files["public/more.zip"] = files["public/more.zip"][:-1]


@case(["bytes-appended"], "content")
def picture_with_tail(files, rng):
    path = sorted(p for p in files if p.startswith("public/train/"))[0]
    files[path] += b"<!-- end -->"


@case(["bytes-appended"], "content")
def archive_with_tail(files, rng): files["public/more.zip"] += b"garbage"


@case(["bytes-appended"], "content")
def array_with_tail(files, rng): files["public/array.npy"] += b"\0" * 16


@case(["bytes-appended"], "answers")
def answers_with_tail(files, rng): files[ANSWERS_CSV] += b"<html>error</html>"


@case([{"bytes-appended", "files-damaged"}], "content")
def document_with_tail(files, rng): files["public/extra.json"] += b"]"


@case(["files-damaged"], "content")
def gzip_named_csv(files, rng): files["public/train.csv"] = gzip.compress(files["public/train.csv"])


@case(["files-damaged"], "answers")
def zip_named_csv(files, rng): files[ANSWERS_CSV] = zipped([("answers.csv", files[ANSWERS_CSV])])


@case(["files-damaged"], "content")
def bzip2_named_csv(files, rng): files["public/train.csv"] = bz2.compress(files["public/train.csv"])


@case(["files-damaged"], "content")
def xz_named_json(files, rng): files["public/extra.json"] = lzma.compress(files["public/extra.json"])


@case(["files-damaged"], "content")
def gzip_named_png(files, rng):
    path = sorted(p for p in files if p.startswith("public/train/"))[2]
    files[path] = gzip.compress(files[path])


@case(["files-damaged", "labels-changed"], "answers")
def gzip_hides_a_label(files, rng):
    cells(files, ANSWERS_CSV, "label", lambda row, value: str((int(value) + 1) % 3) if row == 11 else value)
    files[ANSWERS_CSV] = gzip.compress(files[ANSWERS_CSV])


@case(["document-layout"], "form")
def json_indented(files, rng): files["public/extra.json"] = json.dumps(json.loads(files["public/extra.json"]), indent=1).encode()


@case(["key-order"], "form")
def json_keys_reversed(files, rng): files["public/extra.json"] = json.dumps([dict(reversed(v.items())) for v in json.loads(files["public/extra.json"])]).encode()


@case(["values-changed"], "content")
def json_value_changed(files, rng):
    v = json.loads(files["public/extra.json"]); v[4]["size"] = 3.25
    files["public/extra.json"] = json.dumps(v).encode()


@case(["values-changed"], "content")
def json_number_replaced_by_nan(files, rng):
    v = json.loads(files["public/extra.json"]); v[4]["size"] = float("nan")
    files["public/extra.json"] = json.dumps(v).encode()


@case(["values-changed"], "content")
def json_lines_value_changed(files, rng): text_of(files, "public/lines.json", lambda text: text.replace(json.loads(text.splitlines()[5])["id"] + '", "size": ', json.loads(text.splitlines()[5])["id"] + '", "size": 1', 1))


@case(["rows-missing"], "content")
def json_lines_removed(files, rng): text_of(files, "public/lines.json", lambda text: "\n".join(text.splitlines()[:5] + text.splitlines()[7:]) + "\n")


@case(["image-bytes"], "form")
def picture_saved_again(files, rng):
    from PIL import Image
    path = sorted(p for p in files if p.startswith("public/train/"))[1]
    files[path] = png(np.array(Image.open(io.BytesIO(files[path]))), level=1)


@case(["image-pixels"], "content")
def picture_changed(files, rng):
    from PIL import Image
    path = sorted(p for p in files if p.startswith("public/train/"))[1]
    p = np.array(Image.open(io.BytesIO(files[path]))); p[3, 3] ^= 64
    files[path] = png(p)


@case(["files-swapped"], "answers")
def pictures_of_test_swapped(files, rng):
    a, b = sorted(p for p in files if p.startswith("public/test/"))[:2]
    files[a], files[b] = files[b], files[a]


@case(["files-swapped"], "content")
def pictures_of_train_swapped(files, rng):
    a, b = sorted(p for p in files if p.startswith("public/train/"))[:2]
    files[a], files[b] = files[b], files[a]


@case(["files-swapped"], "answers")
def pictures_in_a_ring(files, rng):
    a, b, c = sorted(p for p in files if p.startswith("public/test/"))[:3]
    files[a], files[b], files[c] = files[b], files[c], files[a]


@case(["files-renamed"], "content")
def picture_renamed(files, rng):
    path = sorted(p for p in files if p.startswith("public/train/"))[0]
    files["public/train/other.png"] = files.pop(path)


@case(["files-missing"], "content")
def picture_removed(files, rng): files.pop(sorted(p for p in files if p.startswith("public/train/"))[0])


@case(["files-missing", "files-surplus"], "answers")
def answers_file_removed(files, rng): files.pop(ANSWERS_CSV); files["private/note.txt"] = b"x"


@case(["files-empty"], "content")
def picture_empty(files, rng): files[sorted(p for p in files if p.startswith("public/train/"))[0]] = b""


@case(["archive-repacked"], "none")
def archive_packed_again(files, rng):
    rezip(files, lambda members: None)
    with zipfile.ZipFile(io.BytesIO(files["public/more.zip"])) as archive:
        members = [(n, archive.read(n)) for n in archive.namelist()]
    files["public/more.zip"] = zipped(members, methods={n: 0 for n, _ in members})


@case(["values-changed"], "content")
def member_of_inner_archive_changed(files, rng):
    def change(m):
        with zipfile.ZipFile(io.BytesIO(m["inner.zip"])) as archive:
            inner = [(n, archive.read(n)) for n in archive.namelist()]
        inner[1] = (inner[1][0], inner[1][1].replace(b"1,5", b"1,6"))
        m["inner.zip"] = zipped(inner)
    rezip(files, change)


@case(["files-swapped"], "content")
def members_swapped(files, rng):
    def change(m): m["p.png"], m["q.png"] = m["q.png"], m["p.png"]
    rezip(files, change)


@case(["files-missing"], "content")
def member_removed(files, rng): rezip(files, lambda members: members.pop("p.png"))


@case(["values-changed"], "content")
def array_value_changed(files, rng):
    array = np.load(io.BytesIO(files["public/array.npy"])); array[4, 1] += 1
    files["public/array.npy"] = npy(array)


@case(["array-layout"], "none")
def array_in_fortran_order(files, rng): files["public/array.npy"] = npy(np.asfortranarray(np.load(io.BytesIO(files["public/array.npy"]))))


@case(["column-types"], "form")
def array_in_big_endian_order(files, rng):
    array = np.load(io.BytesIO(files["public/array.npy"]))
    files["public/array.npy"] = npy(array.astype(">f8"))


@case(["letter-case"], "content")
def texts_in_capitals(files, rng): cells(files, "public/train.csv", "text", lambda row, value: value.upper())


@case(["blanks"], "form")
def spaces_after_texts(files, rng): cells(files, "public/train.csv", "text", lambda row, value: value + " ")


@case(["number-spelling"], "form")
def integers_as_floats(files, rng): cells(files, TEST_CSV, "gap", lambda row, value: value + ".0" if value else value)


@case(["delimiter"], "form")
def semicolons_as_delimiter(files, rng): text_of(files, TEST_CSV, lambda text: text.replace(",", ";"))


@case(["encoding"], "form")
def test_in_utf_16(files, rng): files[TEST_CSV] = ("\ufeff" + files[TEST_CSV].decode()).encode("utf-16-le")


