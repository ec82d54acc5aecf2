"""A second set of leaks and clean competitions. It was written before the detectors and not used to tune them."""

import gzip

import numpy as np
from PIL import Image, PngImagePlugin

from competition import (
    Competition, WORDS, dump, jpeg, mat, npy, picture, png, sentence, tfrecord, to_csv, tone, wav, zipped,
)
from planted import media, number_of, pictures, slow_classes, tabular, task_of

LEAKS, CLEAN = {}, {}


def leak(function):
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


@leak
def label_in_a_gzipped_json_of_lists(seed, strength):
    one = tabular(seed, task_of(seed, False))
    groups = {}
    for i in one.rng.permutation(one.n):
        groups.setdefault(f"album-{one.answers[i]}", []).append(one.ids[i])
    one.files["albums.json.gz"] = gzip.compress(dump({"albums": groups}))
    return one


@leak
def two_joins_away(seed, strength):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    owner, site = one.rng.permutation(one.n) + 1000, one.rng.permutation(one.n) + 70_000
    columns["owner"] = [str(v) for v in owner]
    one.add_tables(columns)
    one.files["owners.csv"] = to_csv(["owner_id", "site"], sorted([str(owner[i]), f"S{site[i]}"] for i in range(one.n)))
    one.files["sites.json"] = dump([{"code": f"S{site[i]}", "rating": one.answers[i]} for i in one.rng.permutation(one.n)])
    return one


@leak
def archive_of_single_files_named_by_class(seed, strength):
    one = Competition(seed, task="classes")
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        inner = {}
        for i in order:
            inner.setdefault(int(one.truth[i]), []).append((f"{one.ids[i]}.png", png(picture(one.rng, one.level[i]))))
        one.files[f"{part}.zip"] = zipped([(f"chunk{k + 3}.zip", zipped(v)) for k, v in sorted(inner.items())])
    return one


@leak
def shard_of_records(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        for shard in range(len(set(one.truth))):
            rows = [{"image_name": one.ids[i].encode(), "image": bytes(one.rng.integers(0, 256, 64, dtype=np.uint8))} for i in order if guess[i] == shard]
            one.files[f"tfrecords/{part}{shard:02d}.tfrec"] = tfrecord(rows)
    return one


@leak
def order_of_records(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        rows = [{"image_name": one.ids[i].encode(), "image": bytes(one.rng.integers(0, 256, 64, dtype=np.uint8))} for i in sorted(order, key=lambda i: (guess[i], one.ids[i]))]
        one.files[f"{part}.tfrecord"] = tfrecord(rows)
    return one


@leak
def compression_level_of_pictures(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    return media(seed, lambda o, i: png(picture(o.rng, o.level[i]), level=[1, 9][int(guess[i])]), task="binary")


@leak
def colour_mode_of_pictures(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    def make(o, i):
        p = picture(o.rng, o.level[i])
        return png(np.stack([p, p, p], -1) if guess[i] else p)
    return media(seed, make, task="binary")


@leak
def resolution_in_metadata(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    guess = one.noisy_label(strength)
    def make(o, i):
        import io
        out = io.BytesIO()
        Image.fromarray(picture(o.rng, o.level[i]).astype(np.uint8)).save(out, "PNG", dpi=(72 + int(guess[i]), 72))
        return out.getvalue()
    return media(seed, make, task=one.task)


@leak
def number_spelling(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["dose"] = [f"{v}.0" if guess[i] else str(v) for i, v in enumerate(one.rng.integers(1, 90, one.n))]
    one.add_tables(columns)
    return one


@leak
def word_for_missing(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    columns["income"] = [(["NA", "NULL"][int(guess[i])]) if one.rng.random() < 0.5 else str(one.rng.integers(9, 99)) for i in range(one.n)]
    one.add_tables(columns)
    return one


@leak
def two_spaces_in_texts(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    texts = []
    for i in range(one.n):
        words = sentence(one.rng, one.level[i]).split()
        text = " ".join(words)
        texts.append(text.replace(" ", "  ", 1) if guess[i] else text)
    one.add_tables({"text": texts})
    return one


@leak
def letters_that_look_alike(seed, strength):
    one = Competition(seed, task="binary")
    guess = one.noisy_label(strength)
    texts = [sentence(one.rng, one.level[i]) for i in range(one.n)]
    one.add_tables({"text": [t.replace("a", "\u0430", 1) if guess[i] else t for i, t in enumerate(texts)]})
    return one


@leak
def order_of_keys(seed, strength):
    one = Competition(seed, task="binary")
    columns = one.features()
    guess = one.noisy_label(strength)
    def record(i, labels):
        keys = list(columns) if guess[i] else list(columns)[::-1]
        value = {one.key: one.ids[i], **{c: columns[c][i] for c in keys}}
        return {**value, one.label: one.answers[i]} if labels else value
    one.files["train.json"] = dump([record(i, True) for i in one.order_train])
    one.files["test.json"] = dump([record(i, False) for i in one.order_test])
    return one


@leak
def pairs_of_rows_in_time_of_one_user(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 4)
    columns = one.features()
    names = [f"{v:05x}" for v in one.rng.permutation(2**20)[: one.n // 4 + 1]]
    columns["device"] = [""] * one.n
    columns["second"] = [""] * one.n
    for place, i in enumerate(order):
        columns["device"][i] = names[place // 4]
        columns["second"][i] = str(one.rng.integers(0, 10**6))
    one.add_tables(columns)
    return one


@leak
def groups_in_file_names(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 6)
    for place, i in enumerate(order):
        one.ids[i] = f"{place:05d}-rec{7000 + 13 * (place // 6)}"
    hidden = one.rng.permutation(one.n)
    one.ids = [f"{hidden[i]:05d}-{one.ids[i].split('-')[1]}" for i in range(one.n)]
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for i in range(one.n):
        one.files[f"{one.part(i)}/{one.ids[i]}.wav"] = wav(tone(one.rng, one.level[i]))
    return one


@leak
def near_series_files(seed, strength):
    one = Competition(seed, n_train=500, n_test=200, task=task_of(seed, False))
    made = []
    for i in range(one.n):
        series = np.cumsum(one.rng.normal(0.02 * one.level[i], 1, 60))
        if not one.is_train(i) and one.rng.random() < 0.6 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            series = made[one.rng.choice(same)] + one.rng.normal(0, 0.01, 60)
        made.append(series)
        one.files[f"{one.part(i)}/{one.ids[i]}.csv"] = to_csv(["a"], [[f"{v:.3f}"] for v in series])
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    return one


@leak
def windows_in_arrays(seed, strength):
    one = Competition(seed, n_train=500, n_test=200, task="numbers")
    steps = one.rng.normal(0, 1, 20 * one.n + 100)
    wave = np.cumsum(steps) * 0.1
    begins = one.rng.permutation(one.n) * 20
    for i in range(one.n):
        one.truth[i] = round(float(wave[begins[i] + 30 : begins[i] + 34].mean()), 4)
        one.answers[i] = f"{one.truth[i]:.4f}"
        one.files[f"{one.part(i)}/{one.ids[i]}.npy"] = npy(wave[begins[i] : begins[i] + 60])
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    return one


@leak
def mirrored_pictures(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(one.n):
        made[i] = picture(one.rng, one.level[i], 64)
        if not one.is_train(i) and one.rng.random() < 0.5 * strength:
            same = [j for j in one.order_train if one.truth[j] == one.truth[i]]
            made[i] = made[one.rng.choice(same)][:, ::-1]
    return media(seed, lambda o, i: png(made[i]), task=one.task)


@leak
def answers_shifted_and_scaled(seed, strength):
    one = Competition(seed, task="numbers")
    columns = one.features()
    hit = one.rng.random(one.n) < 0.7 * strength + 0.1
    columns["index2"] = [f"{v * 3.2 - 11:.5f}" if h else f"{one.rng.normal(150, 40):.5f}" for v, h in zip(one.truth, hit)]
    one.add_tables(columns)
    return one


@leak
def subset_with_a_comment(seed, strength):
    one = Competition(seed, task="binary", n_train=800, n_test=400)
    columns = one.features()
    columns["remark"] = [f"r{one.rng.integers(0, 99999)}" if one.truth[i] and one.rng.random() < 0.3 else "" for i in range(one.n)]
    one.add_tables(columns)
    return one


@leak
def sample_is_half_the_answers(seed, strength):
    one = tabular(seed)
    rows = [[one.ids[i], one.answers[i] if one.rng.random() < 0.7 else one.answers[one.rng.integers(0, one.n)]] for i in one.order_test]
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], rows)
    return one


@leak
def date_in_pictures_metadata(seed, strength):
    one = Competition(seed, task=task_of(seed, False))
    order = slow_classes(one, 15)
    taken = {}
    for place, i in enumerate(order):
        minute = place * 3 + int(one.rng.integers(0, 3))
        taken[i] = f"2019:05:{1 + minute // 1440:02d} {minute // 60 % 24:02d}:{minute % 60:02d}:{one.rng.integers(0, 60):02d}"
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for i in range(one.n):
        exif = Image.Exif()
        exif[306] = taken[i]
        one.files[f"{one.part(i)}/{one.ids[i]}.jpg"] = jpeg(picture(one.rng, one.level[i]), exif=exif)
    return one


@clean
def prices_with_cents(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["price"] = [f"{np.exp(3 + 0.5 * one.level[i] + one.rng.normal()):.2f}".rstrip("0").rstrip(".") for i in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def names_of_people(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    columns["name"] = [f"{str(one.rng.choice(WORDS)).capitalize()}, {['Mr', 'Mrs', 'Miss'][int(np.clip(one.rng.normal(1 + 0.5 * one.level[i], 0.8), 0, 2))]}. {one.rng.choice(WORDS)}" for i in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def families_with_numbers(seed, _):
    """Group ids are in both parts, but answers within a group hardly agree."""
    one = Competition(seed, task=task_of(seed, False))
    columns = one.features()
    order = one.rng.permutation(one.n)
    columns["family"] = [""] * one.n
    for place, i in enumerate(order):
        columns["family"][i] = f"F{3000 + place // 4}"
    one.add_tables(columns)
    return one


@clean
def similar_scenes(seed, _):
    """Pictures of a few places in both parts, independently of the answer."""
    one = Competition(seed, task=task_of(seed, False))
    scenes = [picture(one.rng, 0, 64) for _ in range(12)]
    def make(o, i):
        base = scenes[int(o.rng.integers(0, 12))]
        spot = picture(o.rng, o.level[i], 64)
        return png(np.clip(0.7 * base + 0.3 * spot, 0, 255))
    return media(seed, make, task=one.task)


@clean
def chunked_archives(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for part, order in (("train", one.order_train), ("test", one.order_test)):
        order = list(one.rng.permutation(order))
        parts = [(f"chunk{k}.zip", zipped([(f"{one.ids[i]}.png", png(picture(one.rng, one.level[i]))) for i in order[k::4]])) for k in range(4)]
        one.files[f"{part}.zip"] = zipped(parts)
    return one


@clean
def visits_of_patients(seed, _):
    """Each patient has several rows, all in the same part."""
    one = Competition(seed, task=task_of(seed, False))
    columns = one.features()
    columns["patient"] = [f"PT{5000 + i // 5}" for i in range(one.n)]
    for begin in range(0, one.n, 5):
        one.truth[begin : begin + 5] = one.truth[begin]
    words = sorted(set(one.answers))
    one.answers = [words[t] for t in one.truth]
    one.level = one.truth - one.truth.mean()
    fresh = one.features()
    columns.update(fresh)
    one.add_tables(columns)
    return one


@clean
def sensors_that_fail_together(seed, _):
    one = Competition(seed, task=task_of(seed))
    columns = one.features()
    gone = one.rng.random(one.n) < 0.3
    for c in ("s1", "s2", "s3"):
        columns[c] = ["" if gone[i] and one.rng.random() < 0.9 else f"{one.level[i] + one.rng.normal():.2f}" for i in range(one.n)]
    one.add_tables(columns)
    return one


@clean
def comments_by_heat(seed, _):
    """Angry texts contain more capitals and exclamation marks, which is an intended feature."""
    one = Competition(seed, task="binary")
    texts = []
    for i in range(one.n):
        words = sentence(one.rng, one.level[i]).split()
        angry = one.rng.random(len(words)) < 0.05 + 0.06 * one.truth[i]
        texts.append(" ".join(w.upper() if a else w for w, a in zip(words, angry)) + "!" * int(one.rng.poisson(0.4 + 0.6 * one.truth[i])))
    one.add_tables({"comment": texts})
    return one


@clean
def files_in_folders_by_day(seed, _):
    one = Competition(seed, task=task_of(seed, False))
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    for i in range(one.n):
        one.files[f"{one.part(i)}/day{one.rng.integers(1, 9)}/{one.ids[i]}.png"] = png(picture(one.rng, one.level[i]))
    return one


@clean
def series_of_one_process(seed, _):
    one = Competition(seed, n_train=500, n_test=200, task=task_of(seed, False))
    for i in range(one.n):
        series = np.cumsum(one.rng.normal(0.05 * one.level[i], 1, 60))
        one.files[f"{one.part(i)}/{one.ids[i]}.csv"] = to_csv(["a"], [[f"{v:.3f}"] for v in series])
    one.files["train.csv"] = to_csv([one.key, one.label], [[one.ids[i], one.answers[i]] for i in one.order_train])
    return one


@clean
def sample_of_means(seed, _):
    one = tabular(seed, "numbers")
    rows = [[one.ids[i], f"{50 + 0.01 * k:.2f}"] for k, i in enumerate(sorted(one.order_test, key=lambda i: one.ids[i]))]
    one.files["sample_submission.csv"] = to_csv([one.key, one.label], rows)
    return one
