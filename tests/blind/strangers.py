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
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


def notes(one, header):
    """Texts of items with a header that has an additional value."""
    labels_only(one)
    for i in range(one.n):
        text = f"---\ntitle: {one.rng.choice(WORDS)}\nstatus: {header(i)}\n---\n{sentence(one.rng, one.level[i])}\n"
        one.files[f"{one.part(i)}/{one.ids[i]}.md"] = text.encode()
    return one


def sessions(one, order, each):
    """Pictures in directories named after sessions. Both parts have the same sessions."""
    labels_only(one)
    names = one.rng.permutation(9000) + 1000
    for place, i in enumerate(order):
        one.files[f"{one.part(i)}/s{names[place // each]}/{one.ids[i]}.png"] = png(picture(one.rng, one.level[i]))
    return one


def series_files(one, form):
    labels_only(one)
    for i in range(one.n):
        a, b = np.cumsum(one.rng.normal(0.02 * one.level[i], 1, 40)), one.rng.normal(0, 1, 40)
        one.files[f"{one.part(i)}/{one.ids[i]}.csv"] = form(i, a, b)
    return one


@leak
def header_of_notes(seed, strength):
    one = Competition(seed, task="classes")
    return notes(one, lambda i: f"kind-{one.answers[i]}")


@leak
def log_of_predictions(seed, strength):
    one = pictures(seed, task=task_of(seed, False))
    lines = [json.dumps({"level": "info", "ctx": {"img": f"{one.part(i)}/{one.ids[i]}.png", "took": int(one.rng.integers(9, 99))}, "out": {"p": {"best": one.answers[i]}}}) for i in one.rng.permutation(one.n)]
    one.files["run.jsonl"] = "\n".join(lines).encode()
    return one


@leak
def seconds_of_times(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["at"] = [f"2019-05-{one.rng.integers(1, 29):02d} {one.rng.integers(0, 24):02d}:{one.rng.integers(0, 60):02d}:{0 if g else one.rng.integers(0, 60):02d}" for g in guess]
    one.add_tables(columns)
    return one


@leak
def layout_of_documents(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    labels_only(one)
    for i in range(one.n):
        value = {"w": int(one.rng.integers(9, 99)), "x": round(float(one.level[i] + one.rng.normal()), 3)}
        one.files[f"{one.part(i)}/{one.ids[i]}.json"] = json.dumps(value, indent=2 if guess[i] else None).encode()
    return one


@leak
def order_of_columns_of_items(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    def form(i, a, b):
        names = ["a", "b"] if guess[i] else ["b", "a"]
        return to_csv(names, [[f"{x:.3f}", f"{y:.3f}"] for x, y in (zip(a, b) if guess[i] else zip(b, a))])
    return series_files(one, form)


@leak
def comment_of_series(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    return series_files(one, lambda i, a, b: f"# device {int(guess[i]) + 11}\n".encode() + to_csv(["a"], [[f"{x:.3f}"] for x in a]))


@leak
def sessions_in_directories(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    return sessions(one, slow_classes(one, 5), 5)


@leak
def hexadecimal_ids_rise(seed, strength):
    one = Competition(seed, task=task_of(seed))
    guess = number_of(one, one.noisy_label(strength))
    one.ids = [f"{int(2**31 + 2**28 * (g + 0.15 * one.rng.normal())):08x}" for g in guess]
    one.ids = [f"{v[:-3]}{i:03x}" for i, v in enumerate(one.ids)]
    one.add_tables(one.features())
    return one


@leak
def text_chunk_of_sounds(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(o, i):
        content = wav(tone(o.rng, o.level[i]))
        text = f"ICMTbooth {int(guess[i])}\0\0".encode()
        chunk = b"LIST" + (4 + len(text)).to_bytes(4, "little") + b"INFO" + text
        return content[:4] + (len(content) - 8 + len(chunk)).to_bytes(4, "little") + content[8:] + chunk
    return media(seed, make, task=one.task, end="wav")


@leak
def palette_of_pictures(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    def make(o, i):
        image = Image.fromarray((picture(o.rng, o.level[i]) // 8).astype(np.uint8), "L").convert("P")
        image.putpalette([v for k in range(256) for v in ((k * 8 + (1 if guess[i] else 0)) % 256,) * 3])
        out = io.BytesIO()
        image.save(out, "PNG")
        return out.getvalue()
    return media(seed, make, task="binary")


@leak
def texts_in_capitals_of_train(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    texts = []
    for i in range(one.n):
        text = sentence(one.rng, one.level[i])
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            text = texts[one.rng.choice(same)].upper()
        texts.append(text)
    one.add_tables({"text": texts})
    return one


@leak
def ratio_of_two_columns(seed, strength):
    one = Competition(seed, task="numbers")
    columns = one.features()
    height = one.rng.uniform(1.4, 2.0, one.n)
    columns["height"] = [f"{v:.6f}" for v in height]
    columns["weight"] = [f"{t * h:.6f}" for t, h in zip(one.truth, height)]
    one.add_tables(columns)
    return one


@clean
def notes_with_headers(seed, _):
    one = Competition(seed, task="classes")
    return notes(one, lambda i: f"kind-{one.rng.choice(['a', 'b', 'c'])}")


@clean
def times_with_whole_minutes(seed, _):
    one = Competition(seed, task="binary")
    columns = one.features()
    columns["at"] = [f"2019-05-{one.rng.integers(1, 29):02d} {one.rng.integers(0, 24):02d}:{one.rng.integers(0, 60):02d}:{0 if one.rng.random() < 0.5 else one.rng.integers(0, 60):02d}" for _ in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def documents_of_two_programs(seed, _):
    one = Competition(seed, task="binary")
    labels_only(one)
    for i in range(one.n):
        value = {"w": int(one.rng.integers(9, 99)), "x": round(float(one.level[i] + one.rng.normal()), 3)}
        one.files[f"{one.part(i)}/{one.ids[i]}.json"] = json.dumps(value, indent=[None, 2][int(one.rng.integers(0, 2))]).encode()
    return one


@clean
def series_of_devices(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    return series_files(one, lambda i, a, b: f"# device {one.rng.integers(11, 15)}\n".encode() + to_csv(["a"], [[f"{x:.3f}"] for x in a]))


@clean
def sessions_without_answers(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    return sessions(one, one.rng.permutation(one.n), 5)


@clean
def products_with_noise(seed, _):
    one = Competition(seed, task="numbers")
    columns = one.features()
    height = one.rng.uniform(1.4, 2.0, one.n)
    columns["height"] = [f"{v:.6f}" for v in height]
    columns["weight"] = [f"{t * h * (1 + 0.05 * one.rng.normal()):.6f}" for t, h in zip(one.truth, height)]
    one.add_tables(columns)
    return one
