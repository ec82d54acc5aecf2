"""Metrics that callers import from this module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Hashable, Sequence

from mleprep._mlebench.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")


def average_precision_at_k(actual: set[Hashable], predicted: Sequence[Hashable], k: int) -> float:
    """Returns the sum of the precisions at the hits among the first `k` guesses, divided by the number of possible hits."""
    predicted = predicted[:k] if len(predicted) > k else predicted
    seen: list[Hashable] = []
    hits = 0
    total = 0.0
    for rank, item in enumerate(predicted, 1):
        if item in actual and item not in seen:
            hits += 1
            total += hits / rank
        seen.append(item)
    if not actual:
        return 0.0
    return total / min(len(actual), k)


def mean_average_precision_at_k(
    actual: Sequence[set[Hashable]], predicted: Sequence[Sequence[Hashable]], k: int
) -> np.floating[Any]:
    return np.mean([average_precision_at_k(one, other, k) for one, other in zip(actual, predicted)])


def dice_coefficient(
    predicted_mask: np.ndarray[Any, Any], true_mask: np.ndarray[Any, Any], both_empty_value: float = float("nan")
) -> float:
    """Returns twice the sum of the product of two masks, divided by the sum of both masks."""
    assert predicted_mask.shape == true_mask.shape, (
        f"The masks have the shapes {predicted_mask.shape} and {true_mask.shape}."
    )
    whole = np.sum(predicted_mask) + np.sum(true_mask)
    if whole == 0:
        return both_empty_value
    coefficient: float = 2 * np.sum(predicted_mask * true_mask) / whole
    return coefficient
