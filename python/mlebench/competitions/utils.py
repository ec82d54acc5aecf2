"""Functions that callers' graders import from this module, as upstream's graders do.

The graders of this package do not use them, because the program grades.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from mleprep._mlebench.lazy import LazyModule

from mlebench.grade_helpers import InvalidSubmissionError
from mlebench.utils import get_logger

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy import ndarray

    Array = ndarray[Any, Any]
else:
    np = LazyModule("numpy")
    pd = LazyModule("pandas")

    def __getattr__(name: str) -> Any:
        if name in ("ndarray", "Array"):
            return np.ndarray
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


logger = get_logger(__name__)


def df_to_one_hot(df: pd.DataFrame, id_column: str, target_column: str, classes: list[str]) -> pd.DataFrame:
    """Returns the identifiers, and a column of 0 and 1 per class. A label that is not a class gets its own column."""
    labels = df[target_column]
    found = {label: (labels == label).astype("int64") for label in classes}
    for label in labels.unique():
        if label not in found:
            # The column of such a label has no value in other rows.
            found[label] = (labels == label).astype("float64").where(labels == label)
    return pd.concat([df[[id_column]], pd.DataFrame(found, index=df.index)], axis=1)


def one_hot_dfs_to_log_loss_inputs(
    submission_one_hot: pd.DataFrame,
    answers_one_hot: pd.DataFrame,
    id_column: str = "id",
    apply_softmax: bool = True,
) -> dict[str, Any]:
    """Returns the arguments of scikit-learn's `log_loss`: both frames sorted by identifier, without identifiers."""
    columns = list(answers_one_hot.columns)
    missing = set(columns) - set(submission_one_hot.columns)
    if missing:
        raise InvalidSubmissionError(f"The submission lacks columns of the answers: {missing}.")
    if id_column not in submission_one_hot.columns:
        raise InvalidSubmissionError(f"Submission is missing id column '{id_column}'.")
    assert id_column in columns, f"Answers is missing id column '{id_column}'."
    submission = submission_one_hot[columns].sort_values(by=id_column)
    answers = answers_one_hot.sort_values(by=id_column)
    assert submission[id_column].tolist() == answers[id_column].tolist(), (
        f"The values of `{id_column}` in submission and answers differ."
    )
    predicted = submission.drop(columns=[id_column]).to_numpy()
    if apply_softmax and is_one_hot_encoded(predicted):
        logger.warning("The submission is one-hot encoded, so no softmax is applied.")
    elif apply_softmax:
        predicted = _softmax(predicted)
    return {"y_true": answers.drop(columns=[id_column]).to_numpy(), "y_pred": predicted}


def _softmax(values: Array) -> Array:
    powers = np.exp(values - np.amax(values, axis=-1, keepdims=True))
    result: Array = powers / np.sum(powers, axis=-1, keepdims=True)
    return result


def is_one_hot_encoded(xs: Array) -> bool:
    """Whether a matrix consists of 0 and 1, with rows that sum to 1."""
    assert isinstance(xs, np.ndarray), f"Expected a NumPy array, got {type(xs)}."
    assert xs.ndim == 2, f"Expected a 2D array, got {xs.ndim}D."
    is_binary = np.logical_or(xs == 0, xs == 1).all()
    return bool(is_binary and np.allclose(xs.sum(axis=-1), 1))


def rle_decode(rle_string: str, height: int, width: int) -> Array:
    """Decodes a mask from pairs of start and length. Pixels are counted from 1, column by column."""
    assert isinstance(rle_string, str), f"Expected a string, but got {type(rle_string)}: {rle_string}"
    assert isinstance(height, int), f"Expected an integer, but got {type(height)}: {height}"
    assert isinstance(width, int), f"Expected an integer, but got {type(width)}: {width}"
    numbers = [int(word) for word in rle_string.split()]
    starts, lengths = numbers[0::2], numbers[1::2]
    assert starts == sorted(starts), "The pairs in the RLE string must be sorted."
    assert all(number > 0 for number in starts + lengths), "All pairs in the RLE string must be positive integers."
    pixels = np.zeros(height * width, dtype=bool)
    for start, length in zip(np.array(starts), np.array(lengths), strict=True):
        run = slice(start - 1, start - 1 + length)
        assert not pixels[run].any(), "Overlapping RLE pairs are not allowed."
        pixels[run] = True
    return pixels.reshape((width, height)).T


def rle_encode(x: Array, fg_val: Any = 1) -> list[int]:
    """Encodes the pixels of a mask that equal `fg_val`, as pairs of start and length. `rle_decode` reads such pairs."""
    places = np.flatnonzero(x.T.ravel() == fg_val)
    breaks = np.flatnonzero(np.diff(places) > 1) + 1
    runs = (run for run in np.split(places, breaks) if run.size)
    return [int(number) for run in runs for number in (run[0] + 1, run.size)]


def rles_to_masks(
    rl_encodings: Sequence[str], image_heights: Sequence[int], image_widths: Sequence[int]
) -> list[Array]:
    return [rle_decode(*one) for one in zip(rl_encodings, image_heights, image_widths)]


def get_ids_from_tf_records(tf_record_path: Path, id_feature: str = "image_name") -> list[str]:
    """Returns the values of a feature in a TFRecord file. TensorFlow must be installed."""
    import tensorflow as tf

    features = (tf.train.Example.FromString(record.numpy()).features for record in tf.data.TFRecordDataset(
        tf_record_path.as_posix()
    ))
    return [one.feature[id_feature].bytes_list.value[0].decode("utf-8") for one in features]


def prepare_for_accuracy_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, target_column: str, id_column: str
) -> dict[str, Any]:
    """Returns the arguments of scikit-learn's `accuracy_score`, sorted by identifier."""
    submission, answers = _aligned(submission, answers, id_column, target_column, ("length", "target", "id"))
    return {"y_true": answers[target_column].to_numpy(), "y_pred": submission[target_column].to_numpy()}


def prepare_for_auroc_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, id_col: str, target_col: str
) -> dict[str, Any]:
    """Returns the arguments of scikit-learn's `roc_auc_score`, sorted by identifier."""

    def check(submission: pd.DataFrame) -> None:
        target = submission[target_col]
        try:
            pd.to_numeric(target)
        except ValueError as error:
            raise InvalidSubmissionError(f"Expected `{target_col}` to be numeric, got {target.dtype}.") from error
        if target.min() < 0 or target.max() > 1:
            raise InvalidSubmissionError(f"The values of `{target_col}` must be probabilities between 0 and 1.")

    submission, answers = _aligned(submission, answers, id_col, target_col, ("id", "target", "length"), check)
    return {"y_true": answers[target_col].to_numpy(), "y_score": submission[target_col].to_numpy()}


def _aligned(
    submission: pd.DataFrame,
    answers: pd.DataFrame,
    id_column: str,
    target_column: str,
    order: tuple[str, ...],
    check: Any = lambda submission: None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Checks both frames, and returns them sorted by identifier."""
    for column in (target_column, id_column):
        assert column in answers.columns, f"Answers must have a `{column}` column"
    for what in order:
        named = {"target": target_column, "id": id_column}.get(what)
        if named is None and len(submission) != len(answers):
            raise InvalidSubmissionError("Submission must have the same length as the answers.")
        if named is not None and named not in submission.columns:
            raise InvalidSubmissionError(f"Submission must have a `{named}` column")
    check(submission)
    submission, answers = submission.sort_values(id_column), answers.sort_values(id_column)
    if np.any(submission[id_column].to_numpy() != answers[id_column].to_numpy()):
        raise InvalidSubmissionError(f"The values of `{id_column}` in submission and answers differ.")
    return submission, answers
