"""A fourth set of leaks and clean competitions, written after the detectors had been tuned on the first three."""

import io
import json
import wave

import numpy as np
from PIL import Image

from competition import Competition, WORDS, dump, jpeg, png, picture, sentence, to_csv, tone, wav, zipped
from further import labels_only
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


def notes(comp, header):
    """Writes a text file for each item. `header` maps an item to an additional value in the header of its file."""
    labels_only(comp)
    for i in range(comp.n):
        text = f"---\ntitle: {comp.rng.choice(WORDS)}\nstatus: {header(i)}\n---\n{sentence(comp.rng, comp.level[i])}\n"
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.md"] = text.encode()
    return comp


def sessions(comp, order, each):
    """Writes pictures into directories of sessions. A session has `each` successive items of `order`, of any part."""
    labels_only(comp)
    names = comp.rng.permutation(9000) + 1000
    for place, i in enumerate(order):
        comp.files[f"{comp.part(i)}/s{names[place // each]}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i]))
    return comp


def series_files(comp, form):
    """Writes a file for each item. `form` maps an item and its two series to the content of the file."""
    labels_only(comp)
    for i in range(comp.n):
        a, b = np.cumsum(comp.rng.normal(0.02 * comp.level[i], 1, 40)), comp.rng.normal(0, 1, 40)
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv"] = form(i, a, b)
    return comp


@leak
def header_of_notes(seed, strength):
    """The header of each text contains the class."""
    comp = Competition(seed, task="classes")
    return notes(comp, lambda i: f"kind-{comp.answers[i]}")


@leak
def log_of_predictions(seed, strength):
    """Each line of a JSON log contains an item and its answer."""
    comp = pictures(seed, task=task_of(seed, False))
    lines = [json.dumps({"level": "info", "ctx": {"img": f"{comp.part(i)}/{comp.ids[i]}.png", "took": int(comp.rng.integers(9, 99))}, "out": {"p": {"best": comp.answers[i]}}}) for i in comp.rng.permutation(comp.n)]
    comp.files["run.jsonl"] = "\n".join(lines).encode()
    return comp


@leak
def seconds_of_times(seed, strength):
    """The seconds of a time are 0 for the items of one class."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["at"] = [f"2019-05-{comp.rng.integers(1, 29):02d} {comp.rng.integers(0, 24):02d}:{comp.rng.integers(0, 60):02d}:{0 if g else comp.rng.integers(0, 60):02d}" for g in guess]
    comp.add_tables(columns)
    return comp


@leak
def layout_of_documents(seed, strength):
    """The documents of one class are indented."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    labels_only(comp)
    for i in range(comp.n):
        value = {"w": int(comp.rng.integers(9, 99)), "x": round(float(comp.level[i] + comp.rng.normal()), 3)}
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.json"] = json.dumps(value, indent=2 if guess[i] else None).encode()
    return comp


@leak
def order_of_columns_of_items(seed, strength):
    """The order of the columns in the table of an item depends on the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    def form(i, a, b):
        names = ["a", "b"] if guess[i] else ["b", "a"]
        return to_csv(names, [[f"{x:.3f}", f"{y:.3f}"] for x, y in (zip(a, b) if guess[i] else zip(b, a))])
    return series_files(comp, form)


@leak
def comment_of_series(seed, strength):
    """The first line of the table of an item is a comment that depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    return series_files(comp, lambda i, a, b: f"# device {int(guess[i]) + 11}\n".encode() + to_csv(["a"], [[f"{x:.3f}"] for x in a]))


@leak
def sessions_in_directories(seed, strength):
    """Each session has a directory with its pictures. A session has pictures in train and test, and all have one class."""
    comp = Competition(seed, task=task_of(seed, False))
    return sessions(comp, slow_classes(comp, 5), 5)


@leak
def hexadecimal_ids_rise(seed, strength):
    """Ids are hexadecimal numbers that rise with the answer."""
    comp = Competition(seed, task=task_of(seed))
    guess = number_of(comp, comp.noisy_label(strength))
    comp.ids = [f"{int(2**31 + 2**28 * (g + 0.15 * comp.rng.normal())):08x}" for g in guess]
    comp.ids = [f"{v[:-3]}{i:03x}" for i, v in enumerate(comp.ids)]
    comp.add_tables(comp.features())
    return comp


@leak
def text_chunk_of_sounds(seed, strength):
    """A text in a chunk of each WAV file depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(comp, i):
        content = wav(tone(comp.rng, comp.level[i]))
        text = f"ICMTbooth {int(guess[i])}\0\0".encode()
        chunk = b"LIST" + (4 + len(text)).to_bytes(4, "little") + b"INFO" + text
        return content[:4] + (len(content) - 8 + len(chunk)).to_bytes(4, "little") + content[8:] + chunk
    return media(seed, make, task=comp.task, end="wav")


@leak
def palette_of_pictures(seed, strength):
    """The palette of a picture depends on the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    def make(comp, i):
        image = Image.fromarray((picture(comp.rng, comp.level[i]) // 8).astype(np.uint8), "L").convert("P")
        image.putpalette([v for k in range(256) for v in ((k * 8 + (1 if guess[i] else 0)) % 256,) * 3])
        out = io.BytesIO()
        image.save(out, "PNG")
        return out.getvalue()
    return media(seed, make, task="binary")


@leak
def texts_in_capitals_of_train(seed, strength):
    """Half of the test texts are training texts in capital letters."""
    comp = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(comp.n):
        text = sentence(comp.rng, comp.level[i])
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            text = texts[comp.rng.choice(same)].upper()
        texts.append(text)
    comp.add_tables({"text": texts})
    return comp


@leak
def ratio_of_two_columns(seed, strength):
    """The answer is the ratio of two columns."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    height = comp.rng.uniform(1.4, 2.0, comp.n)
    columns["height"] = [f"{v:.6f}" for v in height]
    columns["weight"] = [f"{t * h:.6f}" for t, h in zip(comp.truth, height)]
    comp.add_tables(columns)
    return comp


@clean
def notes_with_headers(seed, _):
    """The header of each text has a random value."""
    comp = Competition(seed, task="classes")
    return notes(comp, lambda i: f"kind-{comp.rng.choice(['a', 'b', 'c'])}")


@clean
def times_with_whole_minutes(seed, _):
    """The seconds of a time are often 0, independently of the answer."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    columns["at"] = [f"2019-05-{comp.rng.integers(1, 29):02d} {comp.rng.integers(0, 24):02d}:{comp.rng.integers(0, 60):02d}:{0 if comp.rng.random() < 0.5 else comp.rng.integers(0, 60):02d}" for _ in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def documents_of_two_programs(seed, _):
    """Some documents are indented, independently of the answer."""
    comp = Competition(seed, task="binary")
    labels_only(comp)
    for i in range(comp.n):
        value = {"w": int(comp.rng.integers(9, 99)), "x": round(float(comp.level[i] + comp.rng.normal()), 3)}
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.json"] = json.dumps(value, indent=[None, 2][int(comp.rng.integers(0, 2))]).encode()
    return comp


@clean
def series_of_devices(seed, _):
    """The first line of the table of an item is a comment with a random device."""
    comp = Competition(seed, task=task_of(seed, False))
    return series_files(comp, lambda i, a, b: f"# device {comp.rng.integers(11, 15)}\n".encode() + to_csv(["a"], [[f"{x:.3f}"] for x in a]))


@clean
def sessions_without_answers(seed, _):
    """Pictures are in directories of sessions, which do not depend on the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    return sessions(comp, comp.rng.permutation(comp.n), 5)


@clean
def products_with_noise(seed, _):
    """The answer is nearly the ratio of two columns, with noise of 5 %."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    height = comp.rng.uniform(1.4, 2.0, comp.n)
    columns["height"] = [f"{v:.6f}" for v in height]
    columns["weight"] = [f"{t * h * (1 + 0.05 * comp.rng.normal()):.6f}" for t, h in zip(comp.truth, height)]
    comp.add_tables(columns)
    return comp
