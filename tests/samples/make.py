#!/usr/bin/env python3
"""Creates the sample bundles that `prep demo` prepares, and submissions for them.

    python3 tests/samples/make.py

    ID.zip              a bundle with the layout of the real one; every value in it is made up
    ID/better.csv       a submission in which most labels are correct
    ID/incomplete.csv   an invalid submission

Needs only the standard library. Seeds and the times of archive members are fixed, so the same version of zlib gives the same
bytes.
"""

import io
import json
import random
import struct
import zipfile
import zlib
from math import ceil
from pathlib import Path

HERE = Path(__file__).resolve().parent


# Archives and tables


def archive(members):
    """Returns a zip archive of (name, content) pairs, all with the same time and mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        for name, content in members:
            info = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, content, compresslevel=9)
    return buffer.getvalue()


def table(columns, rows):
    """Returns a table as CSV. None becomes an empty cell. No value of the samples needs quotes."""
    text = ["" if value is None else str(value) for row in rows for value in row]
    assert not any(set(value) & set(',"\r\n') for value in text)
    width = len(columns)
    lines = [",".join(text[at : at + width]) for at in range(0, len(text), width)]
    return "\n".join([",".join(columns), *lines, ""])


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    print(f"{path.stat().st_size:7,} {path.relative_to(HERE)}")


# The split


def permutation(count):
    """Returns the order into which NumPy's `RandomState(0)` shuffles `count` rows, as pipelines with `seed: 0` do.

    NumPy uses the same generator as Python (MT19937), but initializes it differently from the seed.
    """
    words = [0]
    for index in range(1, 624):
        words.append((1812433253 * (words[-1] ^ (words[-1] >> 30)) + index) & 0xFFFFFFFF)
    generator = random.Random()
    generator.setstate((3, (*words, 624), None))
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        mask = (1 << last.bit_length()) - 1
        while (other := generator.getrandbits(32) & mask) > last:
            pass
        order[last], order[other] = order[other], order[last]
    return order


def test_part(rows, fraction):
    """Returns the rows that the split puts into the test part, in the order of the split."""
    return [rows[index] for index in permutation(len(rows))[: ceil(fraction * len(rows))]]


# Competitions


def spaceship():
    """Passengers: a table with missing cells in most columns."""
    dice = random.Random(1)
    columns = (
        "PassengerId,HomePlanet,CryoSleep,Cabin,Destination,Age,VIP,RoomService,FoodCourt,"
        "ShoppingMall,Spa,VRDeck,Name,Transported"
    ).split(",")
    first = "Ada Bo Cleo Dov Enzo Fay Gus Hilde Ines Jun Kira Lars Mona Nico Olga Piet".split()
    last = "Amber Birch Cinder Dale Elm Flint Grove Heath Isle Juniper Knoll Larch".split()
    rows = []
    group = 0
    while len(rows) < 300:
        group += 1
        family, planet = dice.choice(last), dice.choice(["Earth", "Earth", "Europa", "Mars"])
        cabin = f"{dice.choice('ABCDEFG')}/{group}/{dice.choice('PS')}"
        target = dice.choice(["TRAPPIST-1e", "TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"])
        for member in range(1, dice.choice([1, 1, 1, 2, 3]) + 1):
            asleep = dice.random() < 0.35
            bills = [0.0 if asleep or dice.random() < 0.4 else float(dice.randrange(2500)) for _ in range(5)]
            age = float(dice.randrange(80))
            name = f"{dice.choice(first)} {family}"
            values = [planet, asleep, cabin, target, age, dice.random() < 0.03, *bills, name]
            values = [None if dice.random() < 0.02 else value for value in values]
            moved = dice.random() < (0.8 if asleep else 0.35)
            rows.append([f"{group:04}_{member:02}", *values, moved])
    test = test_part(rows, 0.1)
    wrong = {row[0] for row in dice.sample(test, 6)}
    better = [[row[0], row[-1] != (row[0] in wrong)] for row in test]
    columns_out = ["PassengerId", "Transported"]
    return {
        "spaceship-titanic.zip": archive([("train.csv", table(columns, rows))]),
        "spaceship-titanic/better.csv": table(columns_out, better),
        # The submission lacks the last passengers.
        "spaceship-titanic/incomplete.csv": table(columns_out, better[:-3]),
    }


def png(pixels):
    """Returns a PNG image of 16 x 16 pixels with a palette of four colours."""
    palette = bytes([214, 190, 150, 186, 158, 118, 70, 122, 66, 44, 88, 48])

    def chunk(kind, content):
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    rows = b""
    for row in pixels:
        rows += b"\0" + bytes(
            row[at] << 6 | row[at + 1] << 4 | row[at + 2] << 2 | row[at + 3] for at in range(0, 16, 4)
        )
    header = struct.pack(">IIBBBBB", 16, 16, 2, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"PLTE", palette)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def cactus():
    """Pictures in a nested archive, some of which show a cactus."""
    dice = random.Random(2)
    rows, pictures = [], []
    for _ in range(200):
        name = f"{dice.getrandbits(64):016x}.png"
        has_cactus = int(dice.random() < 0.7)
        pixels = [[int(dice.random() < 0.15) for _ in range(16)] for _ in range(16)]
        if has_cactus:
            column, top = dice.randrange(4, 12), dice.randrange(1, 7)
            for y in range(top, 16):
                pixels[y][column], pixels[y][column + 1] = 2, 3
            arm = dice.randrange(top + 2, 13)
            for x in range(column - 3, column):
                pixels[arm][x] = 2
        rows.append([name, has_cactus])
        pictures.append((f"train/{name}", png(pixels)))
    better = []
    for name, has_cactus in test_part(rows, 0.19):
        better.append([name, round(0.8 * has_cactus + 0.19 * dice.random(), 3)])
    columns = ["id", "has_cactus"]
    return {
        "aerial-cactus-identification.zip": archive(
            [("train.csv", table(columns, rows)), ("train.zip", archive(sorted(pictures)))]
        ),
        "aerial-cactus-identification/better.csv": table(columns, better),
    }


def conductors():
    """Materials with a geometry file each. The name of the file's directory is the id of the material."""
    dice = random.Random(3)
    columns = (
        "id,spacegroup,number_of_total_atoms,percent_atom_al,percent_atom_ga,percent_atom_in,"
        "lattice_vector_1_ang,lattice_vector_2_ang,lattice_vector_3_ang,lattice_angle_alpha_degree,"
        "lattice_angle_beta_degree,lattice_angle_gamma_degree,formation_energy_ev_natom,bandgap_energy_ev"
    ).split(",")
    rows, files = [], []
    for number in range(1, 201):
        aluminium = dice.randrange(0, 33)
        gallium = dice.randrange(0, 33 - aluminium)
        indium = 32 - aluminium - gallium
        vectors = [round(dice.uniform(5, 24), 4) for _ in range(3)]
        energy = round(abs(dice.gauss(0.18, 0.09)) + 0.002, 4)
        gap = round(0.9 + 3.6 * aluminium / 32 + 1.6 * gallium / 32 + dice.uniform(-0.2, 0.2), 4)
        shares = [round(part / 32, 4) for part in (aluminium, gallium, indium)]
        group = dice.choice([12, 33, 167, 194, 206, 227])
        rows.append([number, group, 80.0, *shares, *vectors, 90.0, 90.0, dice.choice([90.0, 120.0]), energy, gap])
        lines = ["# made up", *(f"lattice_vector {vector} 0.0 0.0" for vector in vectors)]
        for _ in range(3):
            place = " ".join(f"{dice.uniform(0, 9):.2f}" for _ in range(3))
            lines.append(f"atom {place} {dice.choice(['Al', 'Ga', 'In', 'O'])}")
        files.append((f"train/{number}/geometry.xyz", "\n".join(lines) + "\n"))
    better = []
    for number, row in enumerate(test_part(rows, 0.1), 1):
        energy, gap = (value * dice.uniform(0.76, 1.24) for value in row[-2:])
        better.append([number, round(energy, 4), round(gap, 4)])
    name = "nomad2018-predict-transparent-conductors"
    return {
        f"{name}.zip": archive(
            [
                ("train.csv.zip", archive([("train.csv", table(columns, rows))])),
                ("train.zip", archive(files)),
            ]
        ),
        f"{name}/better.csv": table(["id", *columns[-2:]], better),
    }


def pizza():
    """Requests as JSON records, with lists, Unicode and a column of mixed types."""
    dice = random.Random(4)
    reasons = [
        "I lost my job last week",
        "payday is on Friday and the fridge is empty",
        "my exams are over and so is my money",
        "the car broke down and took our savings",
        "we moved and the kitchen is still in boxes",
    ]
    thanks = ["Thank you for reading!", "I will pay it forward \u2764", "\u00a1Gracias!", "Any topping is fine \U0001f355"]
    places = ["Ohio", "Leeds", "Texas", "Oregon", "Malm\u00f6", "Ontario"]
    forums = ["AskCooking", "gardens", "maps", "music", "running", "trains", "woodwork"]
    labelled = []
    for number in range(320):
        edited = dice.random() < 0.15
        time = 1_320_000_000 + dice.randrange(60_000_000)
        given = dice.random() < 0.25
        labelled.append(
            {
                "giver_username_if_known": f"giver{dice.randrange(99)}" if given and dice.random() < 0.3 else "N/A",
                "number_of_upvotes_of_request_at_retrieval": dice.randrange(30),
                "post_was_edited": float(time + dice.randrange(9999)) if edited else False,
                "request_id": f"t3_{number:04x}{dice.getrandbits(8):02x}",
                "request_text": f"Hello, {dice.choice(reasons)}. {dice.choice(thanks)}",
                "request_title": f"[Request] {dice.choice(places)}, {dice.choice(reasons)}",
                "requester_account_age_in_days_at_request": round(dice.uniform(0, 900), 4),
                "requester_number_of_comments_at_request": dice.randrange(400),
                "requester_received_pizza": given,
                "requester_subreddits_at_request": sorted(dice.sample(forums, dice.randrange(4))),
                "requester_username": f"reader{number}",
                "unix_timestamp_of_request": float(time),
            }
        )
    hidden = {
        "number_of_upvotes_of_request_at_retrieval",
        "post_was_edited",
        "requester_received_pizza",
    }
    unlabelled = []
    for number in range(120):
        record = {key: value for key, value in labelled[number].items() if key not in hidden}
        unlabelled.append(record | {"request_id": f"t3_u{number:03}", "giver_username_if_known": "N/A"})
    better = []
    for record in test_part(labelled, len(unlabelled) / (len(labelled) + len(unlabelled))):
        guess = 0.25 * record["requester_received_pizza"] + 0.75 * dice.random()
        better.append([record["request_id"], round(guess, 3)])
    name = "random-acts-of-pizza"
    return {
        f"{name}.zip": archive(
            [("train.json", json.dumps(labelled)), ("test.json", json.dumps(unlabelled))]
        ),
        f"{name}/better.csv": table(["request_id", "requester_received_pizza"], better),
    }


if __name__ == "__main__":
    for make in (spaceship, cactus, conductors, pizza):
        for file, content in make().items():
            write(HERE / file, content)
