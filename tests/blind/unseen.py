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
    """Registers a function that makes a competition with a leak."""
    LEAKS[function.__name__.replace("_", "-")] = function
    return function


def clean(function):
    """Registers a function that makes a competition without a leak."""
    CLEAN[function.__name__.replace("_", "-")] = function
    return function


@leak
def label_in_a_gzipped_json_of_lists(seed, strength):
    """A compressed document lists the ids of each class under a separate key."""
    comp = tabular(seed, task_of(seed, False))
    groups = {}
    for i in comp.rng.permutation(comp.n):
        groups.setdefault(f"album-{comp.answers[i]}", []).append(comp.ids[i])
    comp.files["albums.json.gz"] = gzip.compress(dump({"albums": groups}))
    return comp


@leak
def two_joins_away(seed, strength):
    """A column of the test table leads to a second table, which leads to a third table with the answers."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    owner, site = comp.rng.permutation(comp.n) + 1000, comp.rng.permutation(comp.n) + 70_000
    columns["owner"] = [str(v) for v in owner]
    comp.add_tables(columns)
    comp.files["owners.csv"] = to_csv(["owner_id", "site"], sorted([str(owner[i]), f"S{site[i]}"] for i in range(comp.n)))
    comp.files["sites.json"] = dump([{"code": f"S{site[i]}", "rating": comp.answers[i]} for i in comp.rng.permutation(comp.n)])
    return comp


@leak
def archive_of_single_files_named_by_class(seed, strength):
    """The pictures of each class are in a separate inner archive."""
    comp = Competition(seed, task="classes")
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        inner = {}
        for i in order:
            inner.setdefault(int(comp.truth[i]), []).append((f"{comp.ids[i]}.png", png(picture(comp.rng, comp.level[i]))))
        comp.files[f"{part}.zip"] = zipped([(f"chunk{k + 3}.zip", zipped(v)) for k, v in sorted(inner.items())])
    return comp


@leak
def shard_of_records(seed, strength):
    """The records of each class are in a separate file."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        for shard in range(len(set(comp.truth))):
            rows = [{"image_name": comp.ids[i].encode(), "image": bytes(comp.rng.integers(0, 256, 64, dtype=np.uint8))} for i in order if guess[i] == shard]
            comp.files[f"tfrecords/{part}{shard:02d}.tfrec"] = tfrecord(rows)
    return comp


@leak
def order_of_records(seed, strength):
    """The records of a file are sorted by class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        rows = [{"image_name": comp.ids[i].encode(), "image": bytes(comp.rng.integers(0, 256, 64, dtype=np.uint8))} for i in sorted(order, key=lambda i: (guess[i], comp.ids[i]))]
        comp.files[f"{part}.tfrecord"] = tfrecord(rows)
    return comp


@leak
def compression_level_of_pictures(seed, strength):
    """The compression level of a PNG file depends on the class."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    return media(seed, lambda comp, i: png(picture(comp.rng, comp.level[i]), level=[1, 9][int(guess[i])]), task="binary")


@leak
def colour_mode_of_pictures(seed, strength):
    """The pictures of one class have three equal colour channels, the others have one channel."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    def make(comp, i):
        p = picture(comp.rng, comp.level[i])
        return png(np.stack([p, p, p], -1) if guess[i] else p)
    return media(seed, make, task="binary")


@leak
def resolution_in_metadata(seed, strength):
    """The resolution in the metadata of a picture depends on the class."""
    comp = Competition(seed, task=task_of(seed, False))
    guess = comp.noisy_label(strength)
    def make(comp, i):
        import io
        out = io.BytesIO()
        Image.fromarray(picture(comp.rng, comp.level[i]).astype(np.uint8)).save(out, "PNG", dpi=(72 + int(guess[i]), 72))
        return out.getvalue()
    return media(seed, make, task=comp.task)


@leak
def number_spelling(seed, strength):
    """The integers of one class end with `.0`."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["dose"] = [f"{v}.0" if guess[i] else str(v) for i, v in enumerate(comp.rng.integers(1, 90, comp.n))]
    comp.add_tables(columns)
    return comp


@leak
def word_for_missing(seed, strength):
    """Missing cells are `NA` in one class and `NULL` in the other."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    columns["income"] = [(["NA", "NULL"][int(guess[i])]) if comp.rng.random() < 0.5 else str(comp.rng.integers(9, 99)) for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@leak
def two_spaces_in_texts(seed, strength):
    """The texts of one class contain two spaces in a row."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    texts = []
    for i in range(comp.n):
        words = sentence(comp.rng, comp.level[i]).split()
        text = " ".join(words)
        texts.append(text.replace(" ", "  ", 1) if guess[i] else text)
    comp.add_tables({"text": texts})
    return comp


@leak
def letters_that_look_alike(seed, strength):
    """The texts of one class contain a Cyrillic letter that looks like a Latin `a`."""
    comp = Competition(seed, task="binary")
    guess = comp.noisy_label(strength)
    texts = [sentence(comp.rng, comp.level[i]) for i in range(comp.n)]
    comp.add_tables({"text": [t.replace("a", "\u0430", 1) if guess[i] else t for i, t in enumerate(texts)]})
    return comp


@leak
def order_of_keys(seed, strength):
    """The order of the keys in a record depends on the class."""
    comp = Competition(seed, task="binary")
    columns = comp.features()
    guess = comp.noisy_label(strength)
    def record(i, labels):
        keys = list(columns) if guess[i] else list(columns)[::-1]
        value = {comp.key: comp.ids[i], **{c: columns[c][i] for c in keys}}
        return {**value, comp.label: comp.answers[i]} if labels else value
    comp.files["train.json"] = dump([record(i, True) for i in comp.order_train])
    comp.files["test.json"] = dump([record(i, False) for i in comp.order_test])
    return comp


@leak
def pairs_of_rows_in_time_of_one_user(seed, strength):
    """Each device has four rows, which have the same class and can be in different parts."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 4)
    columns = comp.features()
    names = [f"{v:05x}" for v in comp.rng.permutation(2**20)[: comp.n // 4 + 1]]
    columns["device"] = [""] * comp.n
    columns["second"] = [""] * comp.n
    for place, i in enumerate(order):
        columns["device"][i] = names[place // 4]
        columns["second"][i] = str(comp.rng.integers(0, 10**6))
    comp.add_tables(columns)
    return comp


@leak
def groups_in_file_names(seed, strength):
    """File names contain the number of a recording. Recordings are in both parts, and each has one class."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 6)
    for place, i in enumerate(order):
        comp.ids[i] = f"{place:05d}-rec{7000 + 13 * (place // 6)}"
    hidden = comp.rng.permutation(comp.n)
    comp.ids = [f"{hidden[i]:05d}-{comp.ids[i].split('-')[1]}" for i in range(comp.n)]
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.wav"] = wav(tone(comp.rng, comp.level[i]))
    return comp


@leak
def near_series_files(seed, strength):
    """More than half of the test series are training series with noise."""
    comp = Competition(seed, n_train=500, n_test=200, task=task_of(seed, False))
    made = []
    for i in range(comp.n):
        series = np.cumsum(comp.rng.normal(0.02 * comp.level[i], 1, 60))
        if not comp.is_train(i) and comp.rng.random() < 0.6 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            series = made[comp.rng.choice(same)] + comp.rng.normal(0, 0.01, 60)
        made.append(series)
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv"] = to_csv(["a"], [[f"{v:.3f}"] for v in series])
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


@leak
def windows_in_arrays(seed, strength):
    """Arrays of both parts are overlapping windows of one series. The answer is a mean inside of the window."""
    comp = Competition(seed, n_train=500, n_test=200, task="numbers")
    steps = comp.rng.normal(0, 1, 20 * comp.n + 100)
    wave = np.cumsum(steps) * 0.1
    begins = comp.rng.permutation(comp.n) * 20
    for i in range(comp.n):
        comp.truth[i] = round(float(wave[begins[i] + 30 : begins[i] + 34].mean()), 4)
        comp.answers[i] = f"{comp.truth[i]:.4f}"
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.npy"] = npy(wave[begins[i] : begins[i] + 60])
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


@leak
def mirrored_pictures(seed, strength):
    """Half of the test pictures are mirrored training pictures."""
    comp = Competition(seed, task=task_of(seed, False))
    made = {}
    for i in range(comp.n):
        made[i] = picture(comp.rng, comp.level[i], 64)
        if not comp.is_train(i) and comp.rng.random() < 0.5 * strength:
            same = [j for j in comp.order_train if comp.truth[j] == comp.truth[i]]
            made[i] = made[comp.rng.choice(same)][:, ::-1]
    return media(seed, lambda comp, i: png(made[i]), task=comp.task)


@leak
def answers_shifted_and_scaled(seed, strength):
    """For most items, a column is a linear function of the answer."""
    comp = Competition(seed, task="numbers")
    columns = comp.features()
    hit = comp.rng.random(comp.n) < 0.7 * strength + 0.1
    columns["index2"] = [f"{v * 3.2 - 11:.5f}" if h else f"{comp.rng.normal(150, 40):.5f}" for v, h in zip(comp.truth, hit)]
    comp.add_tables(columns)
    return comp


@leak
def subset_with_a_comment(seed, strength):
    """Three in ten items of class 1 have a remark in a column. Items of class 0 have none."""
    comp = Competition(seed, task="binary", n_train=800, n_test=400)
    columns = comp.features()
    columns["remark"] = [f"r{comp.rng.integers(0, 99999)}" if comp.truth[i] and comp.rng.random() < 0.3 else "" for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@leak
def sample_is_half_the_answers(seed, strength):
    """The sample submission contains the right answer for at least 70 % of the items."""
    comp = tabular(seed)
    rows = [[comp.ids[i], comp.answers[i] if comp.rng.random() < 0.7 else comp.answers[comp.rng.integers(0, comp.n)]] for i in comp.order_test]
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], rows)
    return comp


@leak
def date_in_pictures_metadata(seed, strength):
    """Answers change slowly with the time in the EXIF data."""
    comp = Competition(seed, task=task_of(seed, False))
    order = slow_classes(comp, 15)
    taken = {}
    for place, i in enumerate(order):
        minute = place * 3 + int(comp.rng.integers(0, 3))
        taken[i] = f"2019:05:{1 + minute // 1440:02d} {minute // 60 % 24:02d}:{minute % 60:02d}:{comp.rng.integers(0, 60):02d}"
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        exif = Image.Exif()
        exif[306] = taken[i]  # DateTime
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.jpg"] = jpeg(picture(comp.rng, comp.level[i]), exif=exif)
    return comp


@clean
def prices_with_cents(seed, _):
    """Prices have two decimals at most, without trailing zeros. They are an intended feature."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["price"] = [f"{np.exp(3 + 0.5 * comp.level[i] + comp.rng.normal()):.2f}".rstrip("0").rstrip(".") for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def names_of_people(seed, _):
    """The title in a name is an intended feature."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    columns["name"] = [f"{str(comp.rng.choice(WORDS)).capitalize()}, {['Mr', 'Mrs', 'Miss'][int(np.clip(comp.rng.normal(1 + 0.5 * comp.level[i], 0.8), 0, 2))]}. {comp.rng.choice(WORDS)}" for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def families_with_numbers(seed, _):
    """Families are in both parts, but the answers in a family are unrelated."""
    comp = Competition(seed, task=task_of(seed, False))
    columns = comp.features()
    order = comp.rng.permutation(comp.n)
    columns["family"] = [""] * comp.n
    for place, i in enumerate(order):
        columns["family"][i] = f"F{3000 + place // 4}"
    comp.add_tables(columns)
    return comp


@clean
def similar_scenes(seed, _):
    """Each picture shows one of twelve places, independently of the answer. Each place is in both parts."""
    comp = Competition(seed, task=task_of(seed, False))
    scenes = [picture(comp.rng, 0, 64) for _ in range(12)]
    def make(comp, i):
        base = scenes[int(comp.rng.integers(0, 12))]
        spot = picture(comp.rng, comp.level[i], 64)
        return png(np.clip(0.7 * base + 0.3 * spot, 0, 255))
    return media(seed, make, task=comp.task)


@clean
def chunked_archives(seed, _):
    """Pictures are in four inner archives, independently of the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for part, order in (("train", comp.order_train), ("test", comp.order_test)):
        order = list(comp.rng.permutation(order))
        parts = [(f"chunk{k}.zip", zipped([(f"{comp.ids[i]}.png", png(picture(comp.rng, comp.level[i]))) for i in order[k::4]])) for k in range(4)]
        comp.files[f"{part}.zip"] = zipped(parts)
    return comp


@clean
def visits_of_patients(seed, _):
    """Each patient has several rows, all in the same part."""
    comp = Competition(seed, task=task_of(seed, False))
    columns = comp.features()
    columns["patient"] = [f"PT{5000 + i // 5}" for i in range(comp.n)]
    for begin in range(0, comp.n, 5):
        comp.truth[begin : begin + 5] = comp.truth[begin]
    words = sorted(set(comp.answers))
    comp.answers = [words[t] for t in comp.truth]
    comp.level = comp.truth - comp.truth.mean()
    fresh = comp.features()
    columns.update(fresh)
    comp.add_tables(columns)
    return comp


@clean
def sensors_that_fail_together(seed, _):
    """Three sensors often fail together, independently of the answer."""
    comp = Competition(seed, task=task_of(seed))
    columns = comp.features()
    gone = comp.rng.random(comp.n) < 0.3
    for c in ("s1", "s2", "s3"):
        columns[c] = ["" if gone[i] and comp.rng.random() < 0.9 else f"{comp.level[i] + comp.rng.normal():.2f}" for i in range(comp.n)]
    comp.add_tables(columns)
    return comp


@clean
def comments_by_heat(seed, _):
    """Angry texts contain more capitals and exclamation marks, which is an intended feature."""
    comp = Competition(seed, task="binary")
    texts = []
    for i in range(comp.n):
        words = sentence(comp.rng, comp.level[i]).split()
        angry = comp.rng.random(len(words)) < 0.05 + 0.06 * comp.truth[i]
        texts.append(" ".join(w.upper() if a else w for w, a in zip(words, angry)) + "!" * int(comp.rng.poisson(0.4 + 0.6 * comp.truth[i])))
    comp.add_tables({"comment": texts})
    return comp


@clean
def files_in_folders_by_day(seed, _):
    """Pictures are in directories of days, independently of the answer."""
    comp = Competition(seed, task=task_of(seed, False))
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    for i in range(comp.n):
        comp.files[f"{comp.part(i)}/day{comp.rng.integers(1, 9)}/{comp.ids[i]}.png"] = png(picture(comp.rng, comp.level[i]))
    return comp


@clean
def series_of_one_process(seed, _):
    """Each item has a series of the same process. No series repeats or continues another one."""
    comp = Competition(seed, n_train=500, n_test=200, task=task_of(seed, False))
    for i in range(comp.n):
        series = np.cumsum(comp.rng.normal(0.05 * comp.level[i], 1, 60))
        comp.files[f"{comp.part(i)}/{comp.ids[i]}.csv"] = to_csv(["a"], [[f"{v:.3f}"] for v in series])
    comp.files["train.csv"] = to_csv([comp.key, comp.label], [[comp.ids[i], comp.answers[i]] for i in comp.order_train])
    return comp


@clean
def sample_of_means(seed, _):
    """The values in the sample submission rise with the ids."""
    comp = tabular(seed, "numbers")
    rows = [[comp.ids[i], f"{50 + 0.01 * k:.2f}"] for k, i in enumerate(sorted(comp.order_test, key=lambda i: comp.ids[i]))]
    comp.files["sample_submission.csv"] = to_csv([comp.key, comp.label], rows)
    return comp
