"""Unpacks a bundle into the directory `raw`, and then those archives in `raw` that upstream also unpacks."""

from __future__ import annotations

from pathlib import Path

from mleprep._mlebench.unpack import unpack

# Archives in `raw` that upstream's preparation unpacks, each with the directory below `raw` for its content.
UNPACKED: dict[str, list[tuple[str, str]]] = {
    "aerial-cactus-identification": [("train.zip", "")],
    "billion-word-imputation": [("train_v2.txt.zip", "")],
    "dogs-vs-cats-redux-kernels-edition": [("train.zip", ""), ("test.zip", "")],
    "facebook-recruiting-iii-keyword-extraction": [("Train.zip", "")],
    "invasive-species-monitoring": [("train.7z", ""), ("train_labels.csv.zip", "")],
    "iwildcam-2019-fgvc6": [("train_images.zip", "train_images")],
    "jigsaw-toxic-comment-classification-challenge": [
        ("train.csv.zip", ""),
        ("test.csv.zip", ""),
        ("test_labels.csv.zip", ""),
        ("sample_submission.csv.zip", ""),
    ],
    "kuzushiji-recognition": [("train_images.zip", "train")],
    "leaf-classification": [("train.csv.zip", ""), ("images.zip", "")],
    "mlsp-2013-birds": [("mlsp_contest_dataset.zip", "")],
    "movie-review-sentiment-analysis-kernels-only": [("train.tsv.zip", "")],
    "nomad2018-predict-transparent-conductors": [
        ("train.zip", "train"),
        ("train.csv.zip", "train.csv"),
        ("test.zip", "test"),
        ("test.csv.zip", "test.csv"),
    ],
    "spooky-author-identification": [("train.zip", "")],
    "statoil-iceberg-classifier-challenge": [("train.json.7z", ""), ("test.json.7z", "")],
    "tensorflow-speech-recognition-challenge": [("train.7z", "")],
    "text-normalization-challenge-english-language": [
        ("en_test_2.csv.zip", ""),
        ("en_train.csv.zip", ""),
        ("en_sample_submission_2.csv.zip", ""),
    ],
    "text-normalization-challenge-russian-language": [
        ("ru_test_2.csv.zip", ""),
        ("ru_train.csv.zip", ""),
        ("ru_sample_submission_2.csv.zip", ""),
    ],
    "tgs-salt-identification-challenge": [("competition_data.zip", "")],
}


def fill_raw(competition_id: str, archive: Path, raw: Path) -> None:
    """Unpacks the bundle `archive` into `raw`, and then the archives of `UNPACKED`."""
    raw.mkdir(parents=True, exist_ok=True)
    unpack(archive, raw)
    for name, place in UNPACKED.get(competition_id, []):
        inner = raw / name
        if inner.is_file():
            unpack(inner, raw / place)
