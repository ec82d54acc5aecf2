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
A, T, S, R = "private/test_labels.csv", "public/test.csv", "public/sample_submission.csv", "public/train.csv"
KEY, LABEL, ANSWERS = "id", "label", A


def case(causes, harm, by_place=False):
    def register(function):
        wanted = [one if isinstance(one, set) else {one} for one in causes]
        CASES[function.__name__.replace("_", "-")] = (function, wanted, harm, by_place)
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
    files[R] = to_csv(head + ["label"], [r + [label[i]] for r, i in zip(rows(train), train)])
    files[T] = to_csv(head, rows(test))
    files[S] = to_csv(["id", "label"], [[ids[i], "cat"] for i in test])
    files[A] = to_csv(["id", "label"], [[ids[i], label[i]] for i in test])
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


def table(f, path, change, **options):
    rows = rows_of(f[path])
    rows = change(rows) or rows
    f[path] = to_csv(rows[0], rows[1:], **options)


def column(f, path, name, change):
    def each(rows):
        at = rows[0].index(name)
        for n, row in enumerate(rows[1:]):
            row[at] = change(n, row[at])
    table(f, path, each)


def first(f, beginning): return sorted(p for p in f if p.startswith(beginning))[0]


@case([], "equal")
def nothing(f, r): pass


@case(["labels-changed"], "answers")
def labels_shuffled(f, r):
    labels = list(r.permutation([row[1] for row in rows_of(f[A])[1:]]))
    column(f, A, "label", lambda n, v: labels[n])


@case(["labels-changed"], "answers")
def label_missing(f, r): column(f, A, "label", lambda n, v: "" if n == 6 else v)


@case([{"letter-case", "labels-changed"}], "answers")
def labels_in_capitals(f, r): column(f, A, "label", lambda n, v: v.upper())


@case([{"blanks", "labels-changed"}], "answers")
def labels_with_spaces(f, r): column(f, A, "label", lambda n, v: v + " " if n % 3 else v)


@case([{"labels-changed"}], "answers")
def labels_of_train(f, r): column(f, R, "label", lambda n, v: "owl" if n == 17 and v != "owl" else "cat" if n == 17 else v)


@case([{"number-spelling", "leading-zeros"}, ], "content")
def ids_as_floats_in_test(f, r): column(f, T, "id", lambda n, v: f"{int(v)}.0")


@case([{"number-spelling", "leading-zeros"}], "answers")
def ids_as_floats_in_answers(f, r): column(f, A, "id", lambda n, v: f"{int(v)}.0")


@case(["leading-zeros", "row-order"], "content")
def ids_lost_zeros_in_train_sorted(f, r):
    column(f, R, "id", lambda n, v: str(int(v)))
    table(f, R, lambda rows: rows[:1] + sorted(rows[1:]))


@case(["leading-zeros", "row-order"], "answers")
def ids_lost_zeros_in_answers_by_number(f, r):
    column(f, A, "id", lambda n, v: str(int(v)))
    table(f, A, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: int(row[0])))


@case(["leading-zeros", "row-order"], "content")
def ids_lost_zeros_in_sample_by_number(f, r):
    column(f, S, "id", lambda n, v: str(int(v)))
    table(f, S, lambda rows: rows[:1] + sorted(rows[1:], key=lambda row: int(row[0])))


@case(["leading-zeros", "labels-changed"], "answers")
def ids_lost_zeros_and_a_label(f, r):
    column(f, A, "label", lambda n, v: "owl" if n == 9 and v != "owl" else "dog" if n == 9 else v)
    column(f, A, "id", lambda n, v: str(int(v)))


@case(["line-ends"], "form")
def old_line_ends(f, r): text_of(f, T, lambda t: t.replace("\n", "\r"))


@case(["byte-order-mark", "line-ends"], "form")
def mark_and_line_ends(f, r): text_of(f, R, lambda t: "\ufeff" + t.replace("\n", "\r\n"))


@case(["encoding"], "form")
def latin(f, r): f[R] = f[R].decode().encode("latin-1")


@case(["mojibake"], "content")
def read_as_latin(f, r): f[R] = f[R].decode("latin-1").encode()


@case(["values-changed"], "content")
def letters_lost(f, r): f[R] = f[R].decode().encode("ascii", "replace")


@case(["delimiter"], "form")
def tabs(f, r): table(f, T, lambda rows: None, delimiter="\t")


@case(["quoting"], "form")
def all_quoted(f, r):
    import csv
    table(f, T, lambda rows: None, quoting=csv.QUOTE_ALL)


@case(["blanks"], "form")
def spaces_behind_cells(f, r): column(f, R, "name", lambda n, v: v + "  ")


@case([{"columns-renamed"}], "content")
def spaces_in_the_header(f, r): text_of(f, R, lambda t: t.replace("size", " size", 1))


@case(["columns-renamed"], "answers")
def label_column_renamed(f, r): text_of(f, A, lambda t: t.replace("label", "target", 1))


@case([{"columns-renamed", "values-changed", "column-order"}], "content")
def names_of_columns_exchanged(f, r): text_of(f, R, lambda t: t.replace("size,name,day", "size,day,name", 1))


@case([{"columns-renamed", "columns-missing", "rows-missing", "columns-added"}], "content")
def no_header(f, r): text_of(f, R, lambda t: t.split("\n", 1)[1])


@case([{"boolean-words"}], "form")
def booleans(f, r): column(f, R, "flag", lambda n, v: v.lower())


@case([{"boolean-words"}], "form")
def booleans_as_numbers(f, r): column(f, T, "flag", lambda n, v: str(int(v == "True")))


@case([{"values-changed"}], "content")
def other_dates(f, r): column(f, T, "day", lambda n, v: f"{v[8:]}/{v[5:7]}/{v[:4]}")


@case([{"values-changed", "float-rounded", "number-spelling"}], "content")
def digits_cut(f, r): column(f, R, "size", lambda n, v: v[:-2])


@case(["number-spelling"], "form")
def more_zeros(f, r): column(f, R, "size", lambda n, v: v + "00")


@case(["number-spelling"], "form")
def exponents(f, r): column(f, R, "size", lambda n, v: f"{float(v):.10e}")


@case(["row-order"], "none")
def train_shuffled(f, r): table(f, R, lambda rows: rows[:1] + [rows[1:][i] for i in r.permutation(len(rows) - 1)])


@case(["row-order", "labels-changed"], "answers")
def answers_sorted_and_a_label(f, r):
    column(f, A, "label", lambda n, v: "owl" if n == 9 and v != "owl" else "dog" if n == 9 else v)
    table(f, A, lambda rows: rows[:1] + sorted(rows[1:]))


@case(["row-order"], "answers", by_place=True)
def test_rows_by_place(f, r): table(f, T, lambda rows: rows[:1] + rows[:0:-1])


@case(["row-order"], "none", by_place=True)
def train_rows_by_place(f, r): table(f, R, lambda rows: rows[:1] + rows[:0:-1])


@case(["rows-repeated"], "content")
def written_twice(f, r): text_of(f, R, lambda t: t + t.split("\n", 1)[1])


@case([{"rows-repeated", "rows-added"}], "content")
def written_twice_with_header(f, r): text_of(f, R, lambda t: t + t)


@case(["rows-added"], "answers")
def test_rows_in_train(f, r):
    answers = dict(rows_of(f[A])[1:])
    table(f, R, lambda rows: rows + [row + [answers[row[0]]] for row in rows_of(f[T])[1:]])


@case(["rows-added"], "content")
def noise_rows_in_train(f, r): table(f, R, lambda rows: rows + [["99991", "1.00000", "x", "2019-01-01", "True", "cat"]])


@case(["rows-missing"], "content")
def sample_rows_gone(f, r): table(f, S, lambda rows: rows[:30])


@case(["values-changed"], "content")
def another_default(f, r): column(f, S, "label", lambda n, v: "dog")


@case([{"values-changed", "labels-changed"}], "answers")
def sample_holds_most_answers(f, r):
    answers = [row[1] for row in rows_of(f[A])[1:]]
    column(f, S, "label", lambda n, v: answers[n] if n % 4 else v)


@case(["columns-added"], "answers")
def answers_in_test_as_numbers(f, r):
    answers = [["cat", "dog", "owl"].index(row[1]) for row in rows_of(f[A])[1:]]
    table(f, T, lambda rows: [row + [str(([None] + answers)[n]) if n else "code"] for n, row in enumerate(rows)])


@case(["columns-added"], "content")
def ranks_in_train(f, r): table(f, R, lambda rows: [row + [str(n) if n else "rank"] for n, row in enumerate(rows)])


@case([{"columns-added", "delimiter"}], "content")
def comma_behind_rows(f, r): text_of(f, R, lambda t: "".join(l + ",\n" for l in t.splitlines()))


@case(["final-newline"], "form")
def two_line_ends(f, r): text_of(f, T, lambda t: t + "\n")


@case(["files-surplus"], "answers")
def answers_in_an_archive(f, r): f["public/backup.zip"] = zipped([("x/readme.txt", b"x"), ("x/labels.csv", f[A])])


@case(["files-surplus"], "answers")
def answers_as_document(f, r): f["public/solution.json"] = json.dumps([dict(zip(("id", "label"), row)) for row in rows_of(f[A])[1:]]).encode()


@case(["files-surplus"], "answers")
def answers_by_key(f, r): f["public/solution.json"] = json.dumps({row[0]: row[1] for row in rows_of(f[A])[1:]}).encode()


@case(["files-surplus"], "answers")
def answers_with_other_names(f, r): f["public/check.csv"] = to_csv(["k", "v", "w"], [[n, row[0], row[1]] for n, row in enumerate(rows_of(f[A])[1:])])


@case(["files-surplus"], "content")
def a_table_more(f, r): f["public/check.csv"] = to_csv(["k", "v"], [[row[0], r.integers(0, 9)] for row in rows_of(f[T])[1:]])


@case([{"files-surplus"}], "content")
def system_files(f, r): f["public/.DS_Store"] = b"\0\0\0\1Bud1"; f["public/images/Thumbs.db"] = b"xx"


@case(["files-renamed"], "answers")
def answers_renamed(f, r): f["private/answers.csv"] = f.pop(A)


@case([{"files-renamed", "files-surplus"}], "answers")
def answers_made_public(f, r): f["public/test_labels.csv"] = f.pop(A)


@case(["file-packed"], "form")
def table_gzipped_by_name(f, r): f[R + ".gz"] = gzip.compress(f.pop(R))


@case([{"image-pixels"}], "content")
def jpeg_saved_again(f, r):
    path = first(f, "public/images/train/")
    f[path] = jpeg(np.array(Image.open(io.BytesIO(f[path]))), quality=50)


@case([{"image-bytes"}], "form")
def jpeg_lost_its_header(f, r):
    path = first(f, "public/images/train/")
    f[path] = f[path][:2] + b"\xff\xfe\x00\x06abcd" + f[path][2:]


@case([{"image-pixels", "files-damaged", "image-damaged"}], "content")
def png_that_is_jpeg(f, r):
    path = first(f, "public/masks/train/")
    f[path] = jpeg(np.array(Image.open(io.BytesIO(f[path]))))


@case([{"image-bytes"}], "form")
def mask_in_colour(f, r):
    path = first(f, "public/masks/train/")
    p = np.array(Image.open(io.BytesIO(f[path])))
    f[path] = png(np.stack([p, p, p], -1))


@case([{"image-pixels"}], "content")
def picture_mirrored(f, r):
    path = first(f, "public/masks/train/")
    f[path] = png(np.array(Image.open(io.BytesIO(f[path])))[:, ::-1])


@case([{"files-cut-off"}], "content")
def half_a_picture(f, r):
    path = first(f, "public/images/train/")
    f[path] = f[path][: len(f[path]) // 2]


@case([{"image-damaged", "files-damaged", "image-pixels"}], "content")
def hole_in_a_picture(f, r):
    path = first(f, "public/masks/train/")
    half = len(f[path]) // 2
    f[path] = f[path][:half] + b"\0" * 60 + f[path][half + 60:]


@case([{"files-damaged"}], "content")
def page_instead_of_picture(f, r): f[first(f, "public/images/train/")] = b"<!DOCTYPE html><html><body>404 not found</body></html>"


@case([{"files-damaged"}], "answers")
def page_instead_of_answers(f, r): f[A] = b"<!DOCTYPE html><html><body>404 not found</body></html>"


@case(["files-renamed"], "content")
def one_more_directory(f, r):
    for path in [p for p in f if p.startswith("public/images/train/")]:
        f[path.replace("images/train/", "images/train/train/")] = f.pop(path)


@case(["files-swapped"], "answers")
def masks_of_test_swapped(f, r):
    a, b = sorted(p for p in f if p.startswith("public/masks/test/"))[:2]
    f[a], f[b] = f[b], f[a]


@case(["files-swapped"], "content")
def a_picture_twice(f, r):
    a, b = sorted(p for p in f if p.startswith("public/images/train/"))[:2]
    f[a] = f[b]


@case(["files-swapped"], "answers")
def a_test_picture_in_train(f, r): f[first(f, "public/images/train/")] = f[first(f, "public/images/test/")]


@case([{"number-spelling", "values-changed", "column-types"}], "form")
def document_numbers_as_integers(f, r):
    v = json.loads(f["public/meta.json"]); v["ratio"] = 1
    f["public/meta.json"] = json.dumps(v).encode()


@case([{"values-changed", "column-types", "number-spelling"}], "form")
def document_numbers_as_texts(f, r):
    v = json.loads(f["public/meta.json"]); v["items"][3]["w"] = str(v["items"][3]["w"])
    f["public/meta.json"] = json.dumps(v).encode()


@case([{"values-changed", "columns-missing", "rows-missing"}], "content")
def document_key_gone(f, r):
    v = json.loads(f["public/meta.json"]); del v["items"][3]["where"]["x"]
    f["public/meta.json"] = json.dumps(v).encode()


@case([{"row-order"}], "none")
def document_items_sorted(f, r):
    v = json.loads(f["public/meta.json"]); v["items"].sort(key=lambda one: one["id"])
    f["public/meta.json"] = json.dumps(v).encode()


@case([{"rows-missing", "values-changed"}], "content")
def document_item_gone(f, r):
    v = json.loads(f["public/meta.json"]); del v["items"][7]
    f["public/meta.json"] = json.dumps(v).encode()


@case(["document-layout"], "form")
def document_letters_plain(f, r): f["public/meta.json"] = json.dumps(json.loads(f["public/meta.json"]), ensure_ascii=False).encode()


@case([{"document-layout", "byte-order-mark"}], "form")
def document_with_mark(f, r): f["public/meta.json"] = b"\xef\xbb\xbf" + f["public/meta.json"]


@case([{"document-layout"}], "form")
def lines_as_a_list(f, r): f["public/events.jsonl"] = json.dumps([json.loads(l) for l in f["public/events.jsonl"].splitlines()]).encode()


@case(["files-cut-off"], "content")
def document_cut(f, r): f["public/meta.json"] = f["public/meta.json"][:-40]


@case([{"values-changed"}], "content")
def not_a_number_as_null(f, r): f["public/events.jsonl"] = "".join(l + "\n" if n != 4 else json.dumps({**json.loads(l), "v": None}) + "\n" for n, l in enumerate(f["public/events.jsonl"].decode().splitlines())).encode()


@case(["column-types", "float-single"], "form")
def array_of_doubles(f, r): f["public/frames.npy"] = npy(np.load(io.BytesIO(f["public/frames.npy"])).astype("<f8"))


@case([{"array-shape"}], "content")
def array_turned(f, r): f["public/frames.npy"] = npy(np.ascontiguousarray(np.load(io.BytesIO(f["public/frames.npy"])).T))


@case([{"array-shape", "rows-missing"}], "content")
def array_shorter(f, r): f["public/frames.npy"] = npy(np.load(io.BytesIO(f["public/frames.npy"]))[:-2])


@case([{"row-order"}], "none")
def array_rows_in_another_order(f, r): f["public/frames.npy"] = npy(np.load(io.BytesIO(f["public/frames.npy"]))[::-1].copy())


@case(["archive-repacked"], "none")
def arrays_compressed(f, r):
    out = io.BytesIO()
    np.savez_compressed(out, **np.load(io.BytesIO(f["public/both.npz"])))
    f["public/both.npz"] = out.getvalue()


@case([{"files-missing"}], "content")
def one_of_both_arrays(f, r):
    out = io.BytesIO()
    np.savez(out, a=np.load(io.BytesIO(f["public/both.npz"]))["a"])
    f["public/both.npz"] = out.getvalue()


@case(["archive-repacked"], "none")
def tar_with_other_times(f, r): f["public/notes.tar.gz"] = tar(untar(f["public/notes.tar.gz"]), time=1_700_000_000)


@case([{"archive-repacked", "files-damaged"}], "none")
def tar_without_compression(f, r): f["public/notes.tar.gz"] = tar(untar(f["public/notes.tar.gz"]), mode="w")


@case([{"values-changed", "files-changed"}], "content")
def tar_member_changed(f, r):
    members = untar(f["public/notes.tar.gz"]); members["n/2.txt"] = b"note two\n"
    f["public/notes.tar.gz"] = tar(members)


@case(["files-cut-off"], "content")
def tar_cut(f, r): f["public/notes.tar.gz"] = f["public/notes.tar.gz"][:-30]


@case(["archive-repacked"], "none")
def members_in_another_order(f, r):
    with zipfile.ZipFile(io.BytesIO(f["public/pack.zip"])) as archive:
        f["public/pack.zip"] = zipped([(n, archive.read(n)) for n in archive.namelist()[::-1]])


@case(["archive-repacked"], "none")
def comment_of_an_archive(f, r):
    out = io.BytesIO(f["public/pack.zip"])
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = b"made by somebody"
    f["public/pack.zip"] = out.getvalue()


@case(["files-renamed"], "content")
def directory_in_an_archive(f, r):
    with zipfile.ZipFile(io.BytesIO(f["public/pack.zip"])) as archive:
        f["public/pack.zip"] = zipped([("pack/" + n, archive.read(n)) for n in archive.namelist()])


@case(["files-surplus"], "content")
def member_more(f, r):
    with zipfile.ZipFile(io.BytesIO(f["public/pack.zip"])) as archive:
        f["public/pack.zip"] = zipped([(n, archive.read(n)) for n in archive.namelist()] + [("t/d.txt", b"more")])


@case(["files-surplus"], "answers")
def answers_as_member(f, r):
    with zipfile.ZipFile(io.BytesIO(f["public/pack.zip"])) as archive:
        f["public/pack.zip"] = zipped([(n, archive.read(n)) for n in archive.namelist()] + [("t/labels.csv", f[A])])


@case([{"files-damaged"}], "content")
def tar_named_zip(f, r):
    with zipfile.ZipFile(io.BytesIO(f["public/pack.zip"])) as archive:
        f["public/pack.zip"] = tar({n: archive.read(n) for n in archive.namelist()}, "w")


@case(["archive-unpacked"], "form")
def archive_unpacked(f, r):
    with zipfile.ZipFile(io.BytesIO(f.pop("public/pack.zip"))) as archive:
        f.update({f"public/pack/{n}": archive.read(n) for n in archive.namelist()})


@case([{"files-changed"}], "content")
def sound_changed(f, r): f["public/sound.wav"] = f["public/sound.wav"][:200] + b"\x05\x05" + f["public/sound.wav"][202:]


@case(["bytes-appended"], "content")
def sound_with_tail(f, r): f["public/sound.wav"] += b"ID3tail"


@case(["files-cut-off"], "content")
def records_cut(f, r): f["public/shard.tfrec"] = f["public/shard.tfrec"][:-9]


@case(["file-names-case"], "content")
def names_in_capitals(f, r):
    path = first(f, "public/images/train/")
    f[path.replace(".jpg", ".JPG")] = f.pop(path)


@case(["files-empty"], "answers")
def answers_empty(f, r): f[A] = b""


@case([{"parts-swapped", "files-other-part"}], "answers")
def directories_swapped(f, r):
    for kind in ("images", "masks"):
        train = {p: f.pop(p) for p in list(f) if p.startswith(f"public/{kind}/train/")}
        test = {p: f.pop(p) for p in list(f) if p.startswith(f"public/{kind}/test/")}
        f.update({p.replace("/train/", "/test/"): c for p, c in train.items()})
        f.update({p.replace("/test/", "/train/"): c for p, c in test.items()})
