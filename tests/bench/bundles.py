"""Creates made-up bundles of any size with the layout of real bundles. Members are created one after the other."""
import io, json, random, struct, subprocess, tarfile, tempfile, zipfile
from pathlib import Path

WORDS = ("river stone winter morning copper harbor letter velvet garden broken light shadow silent ember night king sea old "
         "the of and to in is was for with as at by from her his that").split()


def text(draw, words):
    return " ".join(draw.choices(WORDS, k=words))


def archive(bundle):
    """Creates a zip at zlib's default level, like Kaggle.

    In five real bundles, members have exactly the compressed lengths that this level gives.
    """
    return zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED)


def documents(bundle, count):
    """Creates BSON documents of one to four pictures of 2 to 8 KB, like the products of an online shop."""
    draw = random.Random(0)
    with archive(bundle) as out:
        out.writestr("category_names.csv", "category_id,category_level1\n" + "".join(f"{1000000000 + n},name {n}\n" for n in range(100)))
        with out.open("train.bson", "w", force_zip64=True) as member:
            for number in range(count):
                pictures = b"".join(
                    bson_element(3, str(place), bson_document(bson_element(5, "picture", bson_binary(draw.randbytes(draw.randrange(2000, 8000))))))
                    for place in range(draw.randrange(1, 5)))
                member.write(bson_document(
                    bson_element(16, "_id", struct.pack("<i", 3 * number)),
                    bson_element(16, "category_id", struct.pack("<i", 1000000000 + draw.randrange(5270))),
                    bson_element(4, "imgs", bson_document(pictures))))


def bson_document(*elements):
    body = b"".join(elements)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def bson_element(kind, name, value):
    return bytes([kind]) + name.encode() + b"\0" + value


def bson_binary(value):
    return struct.pack("<i", len(value)) + b"\0" + value


def json_lines(bundle, count):
    """Creates questions, each with a document of 1,000 to 9,000 words and up to a hundred candidates."""
    draw = random.Random(0)
    # Documents are slices of one long text, because drawing every word would take most of the time.
    long = text(draw, 100_000)
    with archive(bundle) as out, out.open("simplified-nq-train.jsonl", "w", force_zip64=True) as member:
        for number in range(count):
            begin = draw.randrange(len(long) - 60_000)
            candidates = [{"start_token": n, "top_level": n % 3 == 0, "end_token": n + 5} for n in range(draw.randrange(1, 100))]
            answer = {"start_token": 3, "candidate_index": 0, "end_token": 9} if number % 2 else {"start_token": -1, "candidate_index": -1, "end_token": -1}
            member.write(json.dumps({
                "document_text": long[begin:begin + draw.randrange(6_000, 60_000)], "long_answer_candidates": candidates,
                "question_text": text(draw, 9),
                "annotations": [{"yes_no_answer": "NONE", "long_answer": answer, "short_answers": [], "annotation_id": 8162145847850252264 + number}],
                "document_url": f"https://example.org/{number}", "example_id": number * 7919 + 10**15}, separators=(",", ":")).encode() + b"\n")


def tar_gz(bundle, count):
    """Creates photographs of 10 to 30 KB in a tar.gz, described by one JSON document."""
    draw = random.Random(0)
    with tempfile.TemporaryDirectory(dir=bundle.parent) as directory, archive(bundle) as out:
        images, annotations = [], []
        packed = Path(directory) / "train_val2019.tar.gz"
        with tarfile.open(packed, "w:gz", compresslevel=6) as tar:
            for number in range(count):
                species = draw.randrange(1010)
                name = f"train_val2019/Plants/{species}/{draw.getrandbits(128):032x}.jpg"
                content = draw.randbytes(draw.randrange(10_000, 30_000))
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
                images.append({"license": 6, "file_name": name, "rights_holder": "no name", "height": 600, "width": 435, "id": number})
                annotations.append({"id": number, "image_id": number, "category_id": species})
        out.write(packed, packed.name, zipfile.ZIP_STORED)
        info = {"date_created": "2019-03-11", "contributor": "nobody", "version": 1.0, "description": "made up", "year": 2019, "url": "https://example.org"}
        categories = [{"supercategory": "Plants", "name": str(n), "id": n, "kingdom": "Plantae"} for n in range(1010)]
        document = {"info": info, "images": images, "licenses": [{"url": "https://example.org", "name": "CC 0", "id": 0}],
                    "annotations": annotations, "categories": categories}
        out.writestr("train2019.json", json.dumps(document))
        out.writestr("val2019.json", json.dumps(document | {"images": [], "annotations": []}))


def solid_7z(bundle, count):
    """Creates clips of one second (32 KB), half of it silence, in one solid block. Needs 7z."""
    draw = random.Random(0)
    labels = "yes no up down left right on off stop go bed bird cat dog happy house marvin wow".split()
    with tempfile.TemporaryDirectory(dir=bundle.parent) as directory, archive(bundle) as out:
        audio = Path(directory) / "train" / "audio"
        for label in labels:
            (audio / label).mkdir(parents=True)
        for number in range(count):
            content = b"RIFF" + draw.randbytes(16_000) + bytes(16_000)
            (audio / draw.choice(labels) / f"{number:08x}_nohash_0.wav").write_bytes(content)
        subprocess.run(["7z", "a", "-bd", "-mx=1", "-ms=on", "train.7z", "train"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
        out.write(Path(directory) / "train.7z", "train.7z", zipfile.ZIP_STORED)


def arrays(bundle, count):
    """Creates satellite records of nine bands of 256 x 256 x 8 floats and two masks, and a ninth as many for validation."""
    draw = random.Random(0)
    band = npy("<f4", (256, 256, 8), 0)
    with archive(bundle) as out:
        def record(directory, masks):
            for name in (f"band_{number:02}" for number in range(8, 17)):
                # Half of a band is noise, and half is constant, so that it compresses about as well as real bands.
                out.writestr(f"{directory}/{name}.npy", band[:-2**20] + draw.randbytes(2**20))
            for name in masks:
                out.writestr(f"{directory}/{name}.npy", npy("<i4", (256, 256, 1), draw.randrange(3)))
        numbers = [str(draw.getrandbits(60)) for _ in range(count)]
        for number in numbers:
            record(f"train/{number}", ("human_individual_masks", "human_pixel_masks"))
        held = [str(draw.getrandbits(60)) for _ in range(max(1, count // 9))]
        for number in held:
            record(f"validation/{number}", ("human_pixel_masks",))
        for name, some in (("train", numbers), ("validation", held)):
            rows = [{"record_id": number, "row_min": draw.random() * 1e6, "row_size": 2012.44, "timestamp": 1556894689.0} for number in some]
            out.writestr(f"{name}_metadata.json", json.dumps(rows))


def npy(kind, shape, value):
    """Returns an npy file, with the header as NumPy writes it."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    cells = 1
    for side in shape:
        cells *= side
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<i", value) * cells


def deep_images(bundle, count):
    """Creates drawings of molecules, 4 to 8 KB each. The first three characters of a name are its directories."""
    draw = random.Random(0)
    with archive(bundle) as out:
        rows = ["image_id,InChI\n"]
        for _ in range(count):
            number = f"{draw.getrandbits(48):012x}"
            out.writestr(f"train/{'/'.join(number[:3])}/{number}.png", draw.randbytes(draw.randrange(4_000, 8_000)))
            rows.append(f'{number},"InChI=1S/C{draw.randrange(40)}H{draw.randrange(60)}N3O3/c1-2-3(4,5)/h16H,1-2H3"\n')
        out.writestr("train_labels.csv", "".join(rows))
        out.writestr("extra_approved_InChIs.csv", "InChI\n")
        out.writestr(f"test/0/0/0/00000d2a601c.png", b"")


def nested_images(bundle, count):
    """Creates images and masks in an archive that is itself deflated in the bundle."""
    draw = random.Random(0)
    ids = sorted(f"{draw.getrandbits(40):010x}" for _ in range(count))
    with tempfile.NamedTemporaryFile() as packed:
        with archive(packed) as inner:
            inner.writestr("competition_data/train.csv", "id,rle_mask\n" + "".join(f"{name},1 {draw.randrange(1, 9)}\n" for name in ids))
            for directory, least, most in (("images", 6000, 14000), ("masks", 200, 400)):
                for name in ids:
                    image = b"\x89PNG\r\n\x1a\n" + draw.randbytes(draw.randrange(least, most))
                    inner.writestr(f"competition_data/train/{directory}/{name}.png", image)
        with archive(bundle) as out:
            out.write(packed.name, "competition_data.zip")
            out.writestr("depths.csv", "id,z\n" + "".join(f"{name},{draw.randrange(50, 960)}\n" for name in ids))


def quoted(bundle, count):
    """Creates questions with bodies of many lines and quotes. All cells are quoted, and the table is in a nested zip."""
    draw = random.Random(0)
    long = "".join(f'<p>{text(draw, 30)}.</p>\n\n<pre><code>    {text(draw, 1)}({n}, ""{text(draw, 1)}"");\n</code></pre>\n' for n in range(500))
    with tempfile.TemporaryDirectory(dir=bundle.parent) as directory, archive(bundle) as out:
        with archive(Path(directory) / "Train.zip") as inner, inner.open("Train.csv", "w", force_zip64=True) as member:
            member.write(b'"Id","Title","Body","Tags"\n')
            for number in range(count):
                begin = long.index("<p>", draw.randrange(len(long) - 5000))
                body = long[begin:long.index("</p>", begin + draw.randrange(200, 3000)) + 4]
                member.write(f'"{number + 1}","{text(draw, 8)}?","{body}\n","{text(draw, 3)}"\n'.encode())
        out.write(Path(directory) / "Train.zip", "Train.zip", zipfile.ZIP_STORED)


def integers(bundle, count):
    """Creates 54 columns of small integers, like measurements of forests: ten measures, and 44 columns of 0 or 1."""
    draw = random.Random(0)
    flags = [",".join("1" if n in (a, 4 + b) else "0" for n in range(44)) for a in range(4) for b in range(40)]
    with archive(bundle) as out, out.open("train.csv", "w", force_zip64=True) as member:
        names = ["Id", *(f"Measure_{n}" for n in range(10)), *(f"Soil_Type{n}" for n in range(44)), "Cover_Type"]
        member.write((",".join(names) + "\n").encode())
        for number in range(count):
            measures = ",".join(str(draw.randrange(-50, 5000)) for _ in range(10))
            member.write(f"{number},{measures},{draw.choice(flags)},{draw.randrange(1, 8)}\n".encode())


def rides(bundle, count):
    """Creates taxi rides: keys that are times, and coordinates of 14 to 17 digits, like printed float32 values."""
    draw = random.Random(0)
    with archive(bundle) as out:
        with out.open("train.csv", "w", force_zip64=True) as member:
            member.write(b"key,fare_amount,pickup_datetime,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,passenger_count\n")
            for row in range(count):
                second = row * 31 % 86400
                time = f"2013-{row % 12 + 1:02}-{row % 28 + 1:02} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
                places = ",".join(repr(base + draw.random() / 8) for base in (-73.98, 40.75, -73.97, 40.76))
                member.write(f"{time}.{row:07},{draw.randrange(250, 6000) / 100},{time} UTC,{places},{row % 6 + 1}\n".encode())
        out.writestr("GCP-Coupons-Instructions.rtf", "{}")


def comments(bundle, count):
    """Creates a bundle of comments of users, which contain line breaks and quotes: `count` with labels, `count` without."""
    draw = random.Random(0)
    labels = "toxic severe_toxic obscene threat insult identity_hate".split()
    long = "".join(f'{text(draw, 20)}.\n""{text(draw, 2)}"", {text(draw, 12)}\n' for n in range(500))

    def comment():
        begin = long.index("\n", draw.randrange(len(long) - 3000)) + 1
        return long[begin:long.index("\n", begin + draw.randrange(20, 800))]

    def member(out, name, head, row):
        with io.BytesIO() as packed:
            with archive(packed) as inner, inner.open(name, "w", force_zip64=True) as target:
                target.write((head + "\n").encode())
                for number in range(count):
                    target.write((row(f"{number * 2654435761 % 2**64:016x}") + "\n").encode())
            out.writestr(name + ".zip", packed.getvalue())

    with archive(bundle) as out:
        flags = ",".join(labels)
        member(out, "train.csv", f"id,comment_text,{flags}", lambda key: f'{key},"{comment()}",' + ",".join(str(int(draw.random() < 0.1)) for _ in labels))
        member(out, "test.csv", "id,comment_text", lambda key: f't{key},"{comment()}"')
        member(out, "test_labels.csv", f"id,{flags}", lambda key: f"t{key}," + ",".join(str(draw.randrange(-1, 2)) for _ in labels))
        member(out, "sample_submission.csv", f"id,{flags}", lambda key: f"t{key},0.5,0.5,0.5,0.5,0.5,0.5")
