"""Records what the original libraries write for small bundles, as expected files for the pipelines next to this script.

    python tests/end_to_end/kinds/record.py      (numpy 1.26, pandas 2.2, pymongo, pyarrow, scikit-learn, py7zr, scipy)

Writes NAME/bundle (the files of the archive) and NAME/expected (the prepared files).
"""
import io, json, random, shutil, struct, warnings, zlib
from pathlib import Path

import bson
import numpy as np
import pandas as pd

HERE = Path(__file__).parent
warnings.simplefilter("ignore")


def directories(name):
    base = HERE / name
    for part in ("bundle", "expected"):
        shutil.rmtree(base / part, ignore_errors=True)
        (base / part).mkdir(parents=True)
    (base / "expected/public").mkdir()
    return base / "bundle", base / "expected/public"


def shorthand():
    """Short forms of the pipeline language: names in patterns, columns of a list, unpivot, copies, defaults, named checks."""
    bundle, out = directories("shorthand")
    for case, day, number in [("a", "d1", 1), ("a", "d2", 2), ("b", "d1", 3)]:
        path = bundle / f"scans/{case}/{day}/slice_{number:03}_{number * 10}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{case}{day}{number}\n")
    for name in ("notes/x.txt", "notes/more/y.txt", "z.txt"):
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_text(name)
    frame = pd.DataFrame({"id": [3, 1, 2], "C1": [1, 0, 1], "C2": [0, 0, 4], "word": ["a", "b,c", "d"]})
    frame.to_csv(bundle / "votes.csv", index=False)
    files = sorted(str(path.relative_to(bundle)) for path in bundle.glob("scans/*/*/*"))
    rows = []
    for file in files:
        _, case, day, name = file.split("/")
        _, number, size = name.removesuffix(".txt").split("_")
        rows.append((file.removeprefix("scans/"), case, day, number, size))
        for directory, target in [("kept", file.removeprefix("scans/")), ("flat", name)]:
            path = out / directory / target
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(bundle / file, path)
    pd.DataFrame(rows, columns=["path", "case", "day", "number", "size_mm"]).to_csv(out / "scans.csv", index=False, quoting=2)
    shutil.copytree(bundle / "notes/more", out / "more")
    shutil.copy(bundle / "z.txt", out / "z.txt")
    classes = ["C1", "C2"]
    total = frame[classes].sum(axis=1)
    shares = frame[["id"]].join(frame[classes].div(total.where(total > 0), axis=0))
    shares.to_csv(out / "shares.csv", index=False, quoting=2)
    frame.drop(columns=classes).to_csv(out / "rest.csv", index=False, quoting=2)
    frame.melt(["id", "word"], classes, "class", "votes").to_csv(out / "long.csv", index=False, quoting=2)


def draws():
    bundle, out = directories("draws")
    rng = np.random.RandomState(7)
    words = [int(w) for w in rng.randint(0, 40, 300)]
    pd.DataFrame({"id": range(300), "words": words}).to_csv(bundle / "t.csv", index=False)
    # A draw for every row, and a second draw for some rows.
    g = np.random.RandomState(0)
    rows = []
    for i, n in enumerate(words):
        u = g.uniform()
        place = g.randint(1, n - 1) if u <= 0.5 and n > 2 else None
        rows.append((i, u, place))
    frame = pd.DataFrame(rows, columns=["id", "u", "place"])
    frame["place"] = frame["place"].astype("Int64")
    frame.to_csv(out / "numpy.csv", index=False)
    # Python's `random`: shuffle, then choices and a sample from the same generator.
    p = random.Random(0)
    order = list(range(300))
    p.shuffle(order)
    rows = []
    for i in order:
        cover = p.choice([0, 1])
        directory = p.choice([0, 1, 2]) if cover == 1 else None
        rows.append((i, cover, directory))
    frame = pd.DataFrame(rows, columns=["id", "cover", "folder"])
    frame["folder"] = frame["folder"].astype("Int64")
    frame.to_csv(out / "python.csv", index=False)
    chosen = p.sample(range(300), 30)
    pd.DataFrame({"id": chosen}).to_csv(out / "sampled.csv", index=False)
    # NumPy's newer generator, with bounds.
    d = np.random.default_rng(5)
    rows = [(i, d.uniform(-1, 2), int(d.integers(10, 20)), d.random()) for i in range(300)]
    pd.DataFrame(rows, columns=["id", "x", "k", "r"]).to_csv(out / "generator.csv", index=False)
    order = np.random.RandomState(3).permutation(300)
    pd.DataFrame({"id": order}).to_csv(out / "permuted.csv", index=False)
    # A list of each row is shuffled, with one generator for all rows.
    p = random.Random(9)
    n = np.random.RandomState(9)
    d = np.random.default_rng(9)
    rows = []
    for i, count in enumerate(words):
        items = list(range(count))
        p.shuffle(items)
        rows.append((i, " ".join(map(str, items)), " ".join(map(str, n.permutation(5))), " ".join(map(str, d.permutation(count)))))
    frame = pd.DataFrame(rows, columns=["id", "python", "numpy", "generator"])
    frame.assign(first=frame.python.str.split(" ").str[0]).to_csv(out / "shuffled.csv", index=False)


def documents():
    bundle, out = directories("documents")
    whole = {
        "info": {"year": 2020, "url": "a/b", "x": [1e5, 1e16, -0.0, None, True]},
        "annotations": [{"id": i, "image_id": i % 7, "category": f"cät{i % 3}", "extra": {"b": [], "a": {}}} for i in range(20)],
        "licenses": [],
        "images": [{"id": i, "file_name": f"images/{i}.jpg", "score": i / 3} for i in range(7)],
        "nested": {"deep": [{"a": {"x": "1", "z": 2, "y": "ü"}}]},
    }
    text = json.dumps(whole, ensure_ascii=False, indent=1)
    (bundle / "meta.json").write_bytes(text.encode("utf-8"))
    latin = json.loads(text.encode("utf-8").decode("latin-1"))
    kept = [a for a in latin["annotations"] if a["image_id"] < 4]
    new = dict(latin)
    new["annotations"] = kept
    (out / "sorted.json").write_text(json.dumps(new, indent=4, sort_keys=True))
    utf = json.loads(text)
    test = {k: utf[k] for k in ("licenses", "info")}
    test["images"] = [{**{k: v for k, v in im.items() if k != "score"}, "id": str(im["id"]), "file_name": f"test/{n}.jpg", "n": n} for n, im in enumerate(reversed(utf["images"]))]
    (out / "test.json").write_text(json.dumps(test))
    (out / "empty.json").write_text(json.dumps({**utf, "images": []}, indent=2))
    (out / "list.json").write_text(json.dumps(utf["images"], indent=2, sort_keys=True))
    (out / "lines.jsonl").write_text("".join(json.dumps(a) + "\n" for a in utf["annotations"]))
    pd.DataFrame(utf["images"]).to_json(out / "pandas.jsonl", orient="records", lines=True)
    pd.DataFrame(utf["images"]).to_json(out / "pandas.json", orient="records")
    cells = utf["nested"]["deep"][0]["a"]
    pd.DataFrame({"key": list(cells), "value": [json.dumps(v) for v in cells.values()]}).to_csv(out / "members.csv", index=False)
    pd.DataFrame({"id": [a["id"] for a in utf["annotations"]], "b": ["[]"] * 20, "category": [a["category"] for a in utf["annotations"]]}).to_csv(out / "get.csv", index=False)
    pd.DataFrame({"t": ["%05d|%.10f|%s" % (im["id"], im["score"], im["file_name"]) for im in utf["images"]]}).to_csv(out / "printf.csv", index=False)


def documents_bson():
    bundle, out = directories("bson")
    r = random.Random(1)
    docs = []
    for i in range(50):
        doc = {
            "category_id": r.randrange(10**9), "_id": i * 3,
            "imgs": [{"picture": bytes(r.randrange(256) for _ in range(r.randrange(40)))} for _ in range(r.randrange(4))],
            "big": bson.int64.Int64(i * 2**40), "y": [0.5, float("nan"), float("inf"), -float("inf")][i % 4], "x": r.random() * 10**r.randrange(-5, 20), "none": None, "flag": i % 2 == 0,
            "at": bson.datetime_ms.DatetimeMS(r.randrange(10**12)), "oid": bson.ObjectId(bytes([i] * 12)), "t": "ü\u0001€\U0001F600", "e": {}, "l": [],
        }
        docs.append(doc)
    (bundle / "train.bson").write_bytes(b"".join(bson.encode(d) for d in docs))
    opts = bson.CodecOptions(datetime_conversion=bson.codec_options.DatetimeConversion.DATETIME_MS)
    docs = bson.decode_all((bundle / "train.bson").read_bytes(), opts)
    train = [d for d in docs if d["_id"] % 2 == 0]
    test = [{k: v for k, v in d.items() if k != "category_id"} for d in docs if d["_id"] % 2 == 1]
    (out / "train.bson").write_bytes(b"".join(bson.encode(d) for d in train))
    (out / "test.bson").write_bytes(b"".join(bson.encode(d) for d in test))
    (out / "example.bson").write_bytes(b"".join(bson.encode(d) for d in train[:5]))
    odd = pd.DataFrame([d for d in docs if d["_id"] % 2 == 1])
    answers = pd.DataFrame({"id": odd["_id"], "category_id": odd["category_id"], "big": odd["big"], "double": odd["big"] * 2, "y": odd["y"]})
    answers.to_csv(out / "answers.csv", index=False)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def headers():
    bundle, out = directories("headers")
    (bundle / "files").mkdir()
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 300, 7, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\0" * 301 * 7)) + chunk(b"IEND", b"")
    (bundle / "files/a.png").write_bytes(png)
    (bundle / "files/b.gif").write_bytes(b"GIF89a" + struct.pack("<HH", 12, 34) + b"\0\0\0;")
    (bundle / "files/c.bmp").write_bytes(b"BM" + struct.pack("<IHHIIiiHH", 54, 0, 0, 54, 40, 5, -6, 1, 24) + b"\0" * 24)
    np.save(bundle / "files/d.npy", np.zeros((2, 3, 4), dtype="<f4"))
    np.save(bundle / "files/e.npy", np.array(5, dtype=">i8"))
    (out / "headers.csv").write_text("file,width,height,shape,dtype\nfiles/a.png,300,7,,\nfiles/b.gif,12,34,,\nfiles/c.bmp,5,6,,\nfiles/d.npy,,,\"2,3,4\",<f4\nfiles/e.npy,,,,>i8\n")


def masks():
    bundle, out = directories("masks")
    rng = np.random.RandomState(3)
    (bundle / "m").mkdir()
    rows = []
    for number in range(12):
        shape = [(5, 7, 1), (6, 4), (9,), (4, 4, 1)][number % 4]
        dtype = ["int32", ">i2", "float32", "uint8", "bool", "float64"][number % 6]
        values = rng.choice([0, 1, 2], shape, p=[0.5, 0.4, 0.1]) if number else np.zeros(shape)
        array = np.asarray(values, dtype=dtype, order="F" if number % 5 == 0 else "C")
        name = f"m/{number:02}.npy"
        np.save(bundle / name, array)
        pixels = np.concatenate([[0], array.T.flatten() == 1, [0]]).astype(int)
        runs = np.where(pixels[1:] != pixels[:-1])[0] + 1
        runs[1::2] -= runs[::2]
        rows.append([name, ",".join(map(str, shape)), " ".join(map(str, runs)) or None])
    pd.DataFrame(rows, columns=["file", "shape", "rle"]).to_csv(out / "ones.csv", index=False)


def pandas_json():
    """Records as pandas tables, and inferred columns that are written as JSON."""
    bundle, out = directories("pandas_json")
    lines = [
        '{"id": "7", "n": 1, "f": 0.12345678905, "w": 1.0, "t": "x/y", "m": null, "l": [1, 2.50, -0.0, 1e-12], "b": true}',
        '{"id": "008", "n": 2, "f": 1, "w": 3, "t": "é", "m": "1", "l": [], "b": false}',
        '',
        '{"n": 3, "id": "9", "f": -1e20, "w": 2e3, "t": null, "l": [null, {"a": 1e16}], "b": true}',
        '{"n": 18446744073709551615, "id": "1_0", "w": -4.0, "extra": 5, "t": "", "m": "x", "b": true}',
        '{"id": "11", "n": 4, "f": 2.0, "w": 0.5, "t": "nan", "m": 7, "l": "q", "b": null}',
    ]
    text = "\n".join(lines)
    (bundle / "lines.jsonl").write_text(text)
    frame = pd.read_json(io.StringIO(text), lines=True)
    frame.to_json(out / "ujson.jsonl", orient="records", lines=True)
    frame[["id", "n", "f", "w", "t", "m", "b"]].to_csv(out / "ujson.csv", index=False)
    frame[["id", "n", "w"]].to_json(out / "cells.jsonl", orient="records", lines=True)
    pieces = list(pd.read_json(io.StringIO(text), lines=True, chunksize=3))
    (out / "pieces.jsonl").write_text("".join(piece.to_json(orient="records", lines=True) for piece in pieces))
    (out / "pieces.csv").write_text("".join(piece[["id", "f", "w"]].to_csv(index=False, header=not number) for number, piece in enumerate(pieces)))
    for number, piece in enumerate(pieces):
        piece[["id", "n", "w"]] = piece[["id", "n", "w"]].astype(str)
        piece.insert(0, "piece", number)
    pd.concat(pieces)[["piece", "id", "n", "w"]].to_csv(out / "texts.csv", index=False)
    (out / "texts.jsonl").write_text("".join(piece.drop(columns="piece").to_json(orient="records", lines=True) for piece in pieces))
    # pandas reads both files in chunks. It leaves all records of `same` unchanged. In `late`, it changes a record of the last chunk.
    same = [
        '{"id":5,"f":0.50,"t":"x/\\u00E9 é","b":true,"l":[1,{"a":-0.0}]}',
        '{"id":-3,"f":1e2,"t":"\\ud83c\\udf55","b":false,"l":[]}',
        '{"id":12345678901234567,"f":-0.25,"t":null,"b":true,"l":null}',
        '{"id":7,"f":3.0,"t":"","b":false,"l":"[1]"}',
    ]
    late = same + ['{"id":8,"f":null,"t":"z","b":true,"l":0}', '{"id":9,"f":4,"b":false,"l":{}}']
    for name, lines in [("same", same), ("late", late)]:
        text = "\n".join(lines) + "\n"
        (bundle / f"{name}.jsonl").write_text(text)
        pieces = list(pd.read_json(io.StringIO(text), lines=True, chunksize=2))
        (out / f"{name}.jsonl").write_text("".join(piece.to_json(orient="records", lines=True) for piece in pieces))
        for piece in pieces:
            piece[["id", "b"]] = piece[["id", "b"]].astype(str)
        (out / f"{name}_texts.jsonl").write_text("".join(piece.to_json(orient="records", lines=True) for piece in pieces))
    records = [
        {"id": 1, "w": 1080, "h": 5, "t": None, "big": 2**64, "x": {"k": 1}},
        {"id": 2, "w": None, "h": 0.5, "b": True, "big": -1, "late": 1},
        {"t": "x", "id": 3, "h": 7, "b": None, "big": 2**63, "x": [1.0, None]},
    ]
    (bundle / "list.json").write_text(json.dumps({"info": [1.50], "images": records}))
    frame = pd.DataFrame(records)
    (out / "frame.json").write_text(json.dumps({"info": [1.50], "images": frame.to_dict("records")}))
    frame[["id", "w", "h", "t", "big"]].to_csv(out / "frame.csv", index=False)
    csv = "id,n,gap,flag,word,odd,inf\n007,1,2,True,a/b,1,1.5\n8,20,,False,é,x,inf\n9,-3,4,True,,True,1e16\n"
    (bundle / "table.csv").write_text(csv)
    frame = pd.read_csv(io.StringIO(csv))
    frame.to_json(out / "table.jsonl", orient="records", lines=True)
    rows = [{key: None if pd.isna(value) else value for key, value in row.items()} for row in frame.to_dict("records")]
    (out / "table.json").write_text(json.dumps(rows))
    (out / "kept.json").write_text(json.dumps([{"number": row["id"], "gap": row["gap"]} for row in rows[1:]]))
    (out / "table.bson").write_bytes(b"".join(bson.encode({"id": row["id"], "f": row["gap"], "flag": row["flag"]}) for row in rows))
    frame.to_csv(out / "quoted.csv", index=False, quoting=2)


def arrays_of_types(bundle, out):
    """Arrays of each type as separate tables."""
    (bundle / "types").mkdir(parents=True, exist_ok=True)
    numbers = np.array([0, 1, 7, 1, 100])
    values = {
        "int8": numbers.astype("int8"),
        "uint64": numbers.astype("uint64") + np.uint64(2**63),
        "float32": numbers.astype("float32") + np.float32(0.1),
        "float64": numbers + 0.1,
        "bool": numbers == 1,
        "text": np.array(["a", "b c", "é", "", "1.0"]),
    }
    for name, array in values.items():
        np.save(bundle / f"types/{name}.npy", array)
        pd.DataFrame({"value": array}).to_csv(out / f"type_{name}.csv", index=False)


def read_each():
    bundle, out = directories("read_each")
    r = random.Random(3)
    parts = []
    drives = [f"2021-0{d}-US-{d}" for d in range(1, 5)]
    for k, drive in enumerate(drives):
        (bundle / "drives" / drive).mkdir(parents=True)
        for phone in ("a", "b"):
            rows = []
            for i in range(r.randrange(0, 6)):
                lat = r.choice([37, "37.5", "37.12345678901234567", "1e3"]) if k % 2 else r.randrange(90)
                flag = r.choice(["True", "False"]) if k < 3 else r.choice(["1", "2"])
                rows.append({"word": f"00{i}", "n": i, "time": 1620000000000 + i, "lat": lat, "flag": flag, "note": r.choice(["", "x", "é, \"q\"", "NA"]), "extra": 1})
            if phone == "b" and rows:
                rows[0]["time"] = ""
            columns = ["word", "n", "time", "lat", "flag", "note", "extra"]
            if k % 2:
                columns.reverse()
            path = bundle / "drives" / drive / f"{phone}.csv"
            pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
            if not rows:
                rows.append({c: 1 for c in columns} | {"note": "y", "flag": "True", "word": "w"})
                pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    names = sorted(bundle.glob("drives/*/*.csv"), key=lambda p: p.name)
    names.sort(key=lambda p: p.parent.name, reverse=True)
    for path in names:
        frame = pd.read_csv(path, dtype={"word": str})
        frame.insert(0, "file", str(path.relative_to(bundle)))
        parts.append(frame)
    columns = ["file", "time", "lat", "flag", "note", "n", "word"]
    pd.concat(parts)[columns].to_csv(out / "fixes.csv", index=False)
    arrays_of_types(bundle, out)


def formats():
    bundle, out = directories("formats")
    r = random.Random(4)
    frame = pd.DataFrame({"id": range(40), "name": [f"u{r.randrange(9)}" for _ in range(40)], "x": [r.random() for _ in range(40)]})
    frame.to_parquet(bundle / "t.parquet", index=False)
    frame[frame.name.isin(["u0", "u1", "u2", "u3"])].to_csv(out / "t.csv", index=False)
    frame.sort_values("x", ascending=False).to_csv(out / "backwards.csv", index=False)
    # Cells that pandas prints differently from the file.
    cells = [f"{i},{r.choice(['1e3', '2', '', '3.50'])},{r.choice(['TRUE', 'False'])}" for i in r.sample(range(40), 30)]
    (bundle / "printed.csv").write_text("id,x,b\n" + "\n".join(cells) + "\n")
    printed = pd.read_csv(bundle / "printed.csv")
    printed.to_csv(out / "printed.csv", index=False)
    # One query reads this file twice: as text, whose largest value is `9`, and as numbers, whose largest value is 10.
    (bundle / "ids.csv").write_text("id\n9\n10\n3\n")
    pd.DataFrame({"last": ["9"], "largest": [10]}).to_csv(out / "last.csv", index=False)
    printed[["id"]].merge(frame[["id", "name"]], on="id").to_csv(out / "again.csv", index=False)
    array = np.random.RandomState(1).rand(20, 3, 2).astype("<f4")
    np.save(bundle / "a.npy", array)
    np.save(out / "a.npy", array[1::3])
    np.save(bundle / "flat.npy", np.arange(9))
    pd.DataFrame({"value": np.arange(9)}).to_csv(out / "flat.csv", index=False)
    value = pd.Series(np.arange(9), dtype=float)
    pd.DataFrame({"value": value, "half": value / 2}).to_csv(out / "halves.csv", index=False)
    numbers = frame.id.astype(float)
    pd.DataFrame({"id": numbers, "third": numbers / 3}).to_csv(out / "thirds.csv", index=False)
    (bundle / "counts").mkdir()
    for name, first in (("a", 0), ("b", 5)):
        pd.DataFrame({"n": range(first, first + 5)}).to_csv(bundle / f"counts/{name}.csv", index=False)
    pd.DataFrame({"quarter": np.arange(10) / 4}).to_csv(out / "quarters.csv", index=False)
    rows = [{"id": i, "t": r.choice(["ü", "a b", "q"]), "more": [i]} for i in range(30)]
    (bundle / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pd.DataFrame(rows)[["id", "t"]].to_csv(out / "l.csv", index=False)
    (bundle / "texts").mkdir()
    rows = []
    for name in "abc":
        lines = [f"{name} {r.random()}" for _ in range(r.randrange(2, 30))]
        end = "" if name == "b" else "\n"
        (bundle / f"texts/{name}.txt").write_text("\n".join(lines) + end)
        rows += [(name, number, line, number < len(lines) or end != "") for number, line in enumerate(lines, 1)]
    lines = pd.DataFrame(rows, columns=["stem", "number", "line", "ended"])
    lines.to_csv(out / "lines.csv", index=False)
    (out / "b.txt").write_text((bundle / "texts/b.txt").read_text())
    (out / "lines.txt").write_text("".join(line + "\n" for line in lines[lines.number == 2].line))
    (bundle / "pages").mkdir()
    rows = []
    for page in range(2):
        grey = [[r.randrange(256) for _ in range(5)] for _ in range(4)]
        data = zlib.compress(b"".join(b"\0" + bytes(line) for line in grey))
        header = struct.pack(">IIBBBBB", 5, 4, 8, 0, 0, 0, 0)
        (bundle / f"pages/{page}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))
        rows += [(page, y, x, value) for y, line in enumerate(grey, 1) for x, value in enumerate(line, 1)]
    pd.DataFrame(rows, columns=["stem", "row", "col", "grey"]).to_csv(out / "dots.csv", index=False)
    (bundle / "shards").mkdir()
    rows = []
    for shard in range(2):
        with open(bundle / f"shards/{shard}.tfrec", "wb") as file:
            for i in range(6):
                name = f"{shard}-{i}.jpg"
                file.write(tfrecord({"name": name.encode(), "label": i}))
                rows.append((f"shards/{shard}.tfrec", name, i))
    pd.DataFrame(rows, columns=["file", "name", "label"]).to_csv(out / "records.csv", index=False)
    from sklearn.model_selection import train_test_split
    train_test_split(frame, test_size=0.5, random_state=0)[1][["id"]].to_csv(out / "half.csv", index=False)
    frame.sample(7, random_state=1)[["id"]].to_csv(out / "few.csv", index=False)
    chosen, left = [], 12
    for _, group in frame.groupby("name", sort=False):
        if len(group) <= left:
            left -= len(group)
            chosen += list(group.id)
    pd.DataFrame({"id": sorted(chosen)}).to_csv(out / "whole.csv", index=False)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def tfrecord(features):
    """Returns a TFRecord record with its masked CRC-32C checksums."""
    entries = b""
    for name, value in features.items():
        listed = field(1, field(1, value)) if isinstance(value, bytes) else field(3, field(1, varint(value)))
        entries += field(1, field(1, name.encode()) + field(2, listed))
    data = field(1, entries)
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def archives():
    import py7zr, tarfile, zipfile
    bundle, out = directories("archives")
    r = random.Random(5)
    (bundle / "plain").mkdir()
    for i in range(3):
        (bundle / f"plain/{i}.bin").write_bytes(r.randbytes(r.randrange(3000)))
    rows = []
    def some(archive, names):
        files = {name: (name.encode() * 400)[: r.randrange(2000)] for name in names}
        rows.extend((f"{archive}/{name}", len(data)) for name, data in files.items())
        return files
    for archive, names, method in [("stored.zip", ["a.txt", "b.txt"], zipfile.ZIP_STORED), ("deflated.zip", ["c.txt", "d.txt"], zipfile.ZIP_DEFLATED)]:
        with zipfile.ZipFile(bundle / archive, "w", method) as file:
            for name, data in some(archive, names).items():
                file.writestr(zipfile.ZipInfo(name), data, method)
    with tarfile.open(bundle / "t.tar.gz", "w:gz") as file:
        for name, data in some("t.tar.gz", ["e.txt", "f.txt"]).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    listed = pd.DataFrame({"name": ["x", "y"], "n": [1, 2]})
    listed.to_csv(out / "list.csv", index=False)
    files = some("p.7z", ["g.txt"]) | {"list.csv": (out / "list.csv").read_bytes()}
    rows.append(("p.7z/list.csv", len(files["list.csv"])))
    with py7zr.SevenZipFile(bundle / "p.7z", "w") as file:
        for name, data in files.items():
            file.writestr(data, name)
    pd.DataFrame(sorted(rows), columns=["file", "size"]).to_csv(out / "sizes.csv", index=False)
    (out / "one.bin").write_bytes((bundle / "plain/1.bin").read_bytes())


def redaction():
    """A MATLAB file from which a variable was removed equals a file that never had it."""
    import tarfile, zipfile
    from scipy.io import savemat
    bundle, out = directories("redaction")
    def mat(variables, compressed=False):
        file = io.BytesIO()
        savemat(file, variables, do_compression=compressed)
        # The text before the version contains the time of writing.
        return b"MATLAB 5.0 MAT-file".ljust(116) + file.getvalue()[116:]
    kept = {"frames": np.arange(12.0).reshape(3, 4), "name": "one"}
    (bundle / "one.mat").write_bytes(mat(kept | {"labels": np.arange(5)}))
    (out / "one.mat").write_bytes(mat(kept))
    video = {"Video": {"Labels": np.arange(4), "Frames": 7}}
    with zipfile.ZipFile(bundle / "inner.zip", "w") as file:
        file.writestr(zipfile.ZipInfo("v.mat"), mat(video, compressed=True), zipfile.ZIP_DEFLATED)
        file.writestr(zipfile.ZipInfo("other.txt"), b"stays")
    with tarfile.open(bundle / "all.tar.gz", "w:gz") as file:
        for name in ["one.mat", "inner.zip"]:
            info = tarfile.TarInfo(name)
            data = (bundle / name).read_bytes()
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))


def functions():
    bundle, out = directories("functions")
    r = random.Random(11)
    blanks = " \t\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
    others = "aé\u200b\ufeff\u180e,_"
    texts = ["".join(r.choice(blanks + others) for _ in range(r.randrange(0, 14))) for _ in range(400)]
    texts = [text if text.strip() else "-" for text in texts]
    frame = pd.DataFrame({"id": range(400), "text": texts})
    frame.to_csv(bundle / "texts.csv", index=False)
    words = [text.split() for text in texts]
    joined = pd.DataFrame({"id": range(400), "words": [len(one) for one in words], "text": ["|".join(one) for one in words]})
    joined.to_csv(out / "words.csv", index=False)
    numbers = [r.choice([r.uniform(-10, 10), r.randrange(-2000, 2000) / 8, r.randrange(-100, 100) + 0.5, r.uniform(-1, 1) * 10.0 ** r.randrange(-300, 300), float("nan"), 2.675, 1e308, 5e-324]) for _ in range(2000)]
    digits = [r.choice([-3, -1, 0, 0, 1, 2, 2, 3, 5, 15, 22]) for _ in numbers]
    frame = pd.DataFrame({"x": numbers, "digits": digits})
    frame.to_csv(bundle / "numbers.csv", index=False)
    with np.errstate(all="ignore"):
        rounded = [np.round(x, d) for x, d in zip(numbers, digits)]
    pd.DataFrame({"x": rounded}).to_csv(out / "rounded.csv", index=False)


def containers():
    """Archives selected by a pattern, gzipped files, JSON lists as texts, and all ways to quote and end lines."""
    import gzip, zipfile
    bundle, out = directories("containers")
    r = random.Random(8)
    rows = []
    for shard in ("a", "b", "c10"):
        path = bundle / f"images/{shard}.zip"
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as file:
            for number in range(r.randrange(2, 5)):
                name, data = f"{r.choice(['fox', 'owl'])}/{number}.txt", f"{shard} {number}"
                file.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
                rows.append((f"images/{shard}.zip/{name}", shard, name.split("/")[0], len(data)))
                (out / "flat").mkdir(exist_ok=True)
                (out / f"flat/{shard}_{number}.txt").write_text(data)
    pd.DataFrame(sorted(rows), columns=["file", "shard", "species", "size"]).to_csv(out / "files.csv", index=False)
    # The pipeline reads `unpacked/*.tar.gz`, but the bundle contains the unpacked directories `x` and `y`.
    for shard in ("x", "y"):
        (bundle / f"unpacked/{shard}/in").mkdir(parents=True)
        (bundle / f"unpacked/{shard}/in/{shard}.txt").write_text(shard)
    pd.DataFrame({"file": [f"unpacked/{shard}.tar.gz/in/{shard}.txt" for shard in "xy"]}).to_csv(out / "unpacked.csv", index=False)
    words = ["a", "b,c", 'd"e', "", " f ", "ü", "None", "line\nbreak"]
    frame = pd.DataFrame({"id": range(60), "x": [r.choice([0.5, 1e20, -0.0, float("nan")]) for _ in range(60)], "ok": [r.random() < 0.5 for _ in range(60)],
                          "note": [r.choice(["plain", "co,mma", "cr\rcr", 'quo"te', "lf\nlf", None]) for _ in range(60)],
                          "tags": [json.dumps(r.sample(words, r.randrange(1, 5)), ensure_ascii=r.random() < 0.5) for _ in range(60)]})
    text = frame.to_csv(index=False, lineterminator="\r\n").encode()
    (bundle / "table.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    (bundle / "plain.csv").write_bytes(text)
    (out / "table.csv").write_bytes(text)
    read = pd.read_csv(bundle / "table.csv.gz", float_precision="round_trip")
    read.to_csv(out / "all.csv", index=False, quoting=1)
    read.to_csv(out / "crlf.csv", index=False, lineterminator="\r\n")
    read.to_csv(out / "all_crlf.tsv", index=False, sep="\t", quoting=1, lineterminator="\r\n")
    read[["note"]].to_csv(out / "one.csv", index=False, lineterminator="\r\n")
    lists = [json.loads(tags) for tags in read.tags]
    joined = pd.DataFrame({"id": read.id, "n": [len(tags) for tags in lists], "tags": ["|".join(tags) for tags in lists]})
    joined.to_csv(out / "tags.csv", index=False)


def cuts():
    """Splits in the order of a column: at a value, at a fraction, with ties and groups."""
    bundle, out = directories("cuts")
    r = random.Random(5)
    days = pd.date_range("2019-05-01", periods=120)
    frame = pd.DataFrame({"id": range(400), "day": [str(r.choice(days).date()) for _ in range(400)], "shop": [r.choice("abcdefghijklmnop") + str(r.randrange(9)) for _ in range(400)],
                          "price": [r.choice([r.randrange(-9, 40) / 4, 2.5, -0.0, 0.0]) for _ in range(400)], "size": [r.choice([9, 10, 11, 100, -3, 2]) for _ in range(400)]})
    frame.to_csv(bundle / "sales.csv", index=False)

    def write(name, part):
        frame.loc[part.index].to_csv(out / f"{name}.csv", index=False)

    write("before", frame[frame.day < "2019-07-01"])
    write("after", frame[frame.day >= "2019-07-01"])
    write("recent", frame[pd.to_datetime(frame.day) >= pd.to_datetime(frame.day).max() - pd.Timedelta(days=13)])
    ordered = frame.sort_values("day", kind="stable")
    cut = int(len(ordered) * 0.8)
    first, second = ordered[:cut], ordered[cut:]
    assert first.day.iloc[-1] == second.day.iloc[0]
    write("early", first)
    write("late", second)
    # pandas' default order, which is not stable.
    ordered = frame.sort_values("day")
    write("unstable_early", ordered[:cut])
    write("unstable_late", ordered[cut:])
    write("later", frame[frame.day >= second.day.iloc[0]])
    write("latest", frame[frame.day > first.day.iloc[-1]])
    write("costly", frame[frame.price >= 2.5])
    write("large", frame[frame["size"] >= 10])
    last = frame.groupby("shop").day.transform("max")
    write("new_shops", frame[last >= "2019-07-20"])
    shops = frame.groupby("shop", sort=False).day.max().sort_values(kind="stable")
    kept = shops[: len(shops) - 11]
    assert kept.iloc[-1] != shops.iloc[len(kept)]
    write("eleven_shops", frame[~frame.shop.isin(kept.index)])


if __name__ == "__main__":
    read_each()
    draws()
    shorthand()
    documents()
    documents_bson()
    pandas_json()
    headers()
    masks()
    formats()
    archives()
    redaction()
    functions()
    cuts()
    containers()
