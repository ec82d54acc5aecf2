"""Metrics that others import from here."""

from __future__ import annotations

from typing import Any, Hashable, Sequence


def average_precision_at_k(actual: set[Hashable], predicted: Sequence[Hashable], k: int) -> float:
    """Precision at each of the first `k` hits, summed up and divided by the number of hits that are possible."""
    if not actual:
        return 0.0
    seen: set[Hashable] = set()
    total = 0.0
    for rank, item in enumerate(list(predicted)[:k], 1):
        if item in actual and item not in seen:
            seen.add(item)
            total += len(seen) / rank
    return total / min(len(actual), k)


def mean_average_precision_at_k(
    actual: Sequence[set[Hashable]], predicted: Sequence[Sequence[Hashable]], k: int
) -> float:
    values = [average_precision_at_k(one, other, k) for one, other in zip(actual, predicted)]
    return sum(values) / len(values)


def dice_coefficient(predicted: Any, true: Any, both_empty_value: float = float("nan")) -> float:
    """Twice what two masks share, divided by what they have together."""
    assert predicted.shape == true.shape, f"The masks have the shapes {predicted.shape} and {true.shape}."
    whole = predicted.sum() + true.sum()
    if whole == 0:
        return both_empty_value
    return float(2.0 * (predicted * true).sum() / whole)
