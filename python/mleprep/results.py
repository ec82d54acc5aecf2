"""Results of calls: frozen records with the fields of the program's JSON, and lists that notebooks show as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

from mleprep import _html


@dataclass(frozen=True)
class Competition:
    """A competition and the state of its data."""

    id: str
    name: str | None = None
    #: Sets of the benchmark that contain the competition, such as `lite` or `scored`.
    sets: tuple[str, ...] = ()
    category: str | None = None
    #: Size of the bundle in bytes, if it is published.
    bytes: int | None = None
    state: str = ""
    #: Prepared variants.
    variants: tuple[str, ...] = ()
    #: Whether scores on the prepared data can be compared with published scores. None if no data are prepared.
    comparable_with_v1: bool | None = None

    _HEADER = ("id", "state", "bundle", "category", "sets")

    def _cells(self) -> tuple[object, ...]:
        return self.id, self.state, _html.size(self.bytes), self.category, list(self.sets)


@dataclass(frozen=True)
class Step:
    """A step of a plan."""

    name: str
    kind: str
    #: `yes`, `no`, or `maybe`, which means only if the result of an earlier step changes.
    runs: str
    #: Why the step runs.
    reason: str | None = None


@dataclass(frozen=True)
class Plan:
    """The steps that preparing a competition would execute."""

    id: str
    steps: tuple[Step, ...] = ()
    #: Bytes to download, if known.
    download_bytes: int | None = None

    _HEADER = ("id", "steps that run", "steps", "download")

    @property
    def is_up_to_date(self) -> bool:
        """Whether no step would run."""
        return all(step.runs == "no" for step in self.steps)

    def _cells(self) -> tuple[object, ...]:
        runs = sum(step.runs != "no" for step in self.steps)
        return self.id, runs, len(self.steps), _html.size(self.download_bytes)


@dataclass(frozen=True)
class Failure:
    """The reason why a competition was not prepared."""

    message: str
    #: The step that failed. None if the competition could not be planned.
    step: str | None = None
    #: The kind of failure: `input`, `check`, `pipeline`, `machine`, `away` and others.
    kind: str | None = None
    help: str | None = None


@dataclass(frozen=True)
class Prepared:
    """The result of preparing a competition."""

    id: str
    variant: str = "v1"
    #: `prepared`, `up_to_date`, `failed` or `stopped`.
    state: str = ""
    #: Number of published files. The next field is their size in bytes.
    files: int | None = None
    bytes: int | None = None
    seconds: float = 0.0
    steps_run: int = 0
    steps_reused: int = 0
    #: `ok`, `differ`, `depends_on_writer`, `not_published` or `not_checked`.
    checksums: str = ""
    failures: tuple[Failure, ...] = ()

    _HEADER = ("id", "state", "checksums", "files", "size", "seconds", "failure")

    @property
    def is_complete(self) -> bool:
        """Whether the competition is prepared completely."""
        return self.state in ("prepared", "up_to_date")

    def _cells(self) -> tuple[object, ...]:
        failure = self.failures[0].message if self.failures else None
        return self.id, self.state, self.checksums, self.files, _html.size(self.bytes), self.seconds, failure


@dataclass(frozen=True)
class Validation:
    """Whether a submission is valid."""

    id: str
    valid: bool
    #: The message that upstream's validation server would return.
    message: str
    #: The kind of the reason if the submission is invalid, such as `row_count`. `message` explains it.
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.valid

    def _repr_html_(self) -> str:
        return _html.table(("id", "valid", "message"), [(self.id, self.valid, self.message)])


@dataclass(frozen=True)
class Grade:
    """A graded submission: the fields of upstream's report."""

    id: str
    #: The score. None if the submission is invalid; `reason` then explains why.
    score: float | None
    valid: bool = False
    #: A message if the submission is invalid. `report["reason"]` also has the kind, the column and the row.
    reason: str | None = None
    #: `gold`, `silver`, `bronze`, or None.
    medal: str | None = None
    above_median: bool = False
    is_lower_better: bool | None = None
    #: The thresholds for gold, silver and bronze, and the median of the leaderboard.
    thresholds: dict[str, float] = field(default_factory=dict)
    variant: str | None = None
    comparable_with_v1: bool | None = None
    #: Whether the submission is byte-identical to the answers.
    is_answers: bool = False
    #: All fields of the program's report, with upstream's names.
    report: dict[str, Any] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return self.valid

    def _repr_html_(self) -> str:
        header = ("id", "score", "medal", "above median", "reason", *self.thresholds)
        row = (self.id, self.score, self.medal, self.above_median, self.reason, *self.thresholds.values())
        return _html.table(header, [row])


Row = TypeVar("Row", Competition, Plan, Prepared)


class Results(Sequence[Row], Generic[Row]):
    """An immutable list of records, which can be indexed by position or id. Notebooks show it as a table."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: tuple[Row, ...] = tuple(rows)

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Results[Row]: ...
    def __getitem__(self, key: int | str | slice) -> Row | Results[Row]:
        if isinstance(key, slice):
            return Results(self._rows[key])
        if isinstance(key, int):
            return self._rows[key]
        for row in self._rows:
            if row.id == key:
                return row
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Results({list(self._rows)!r})"

    @property
    def ids(self) -> list[str]:
        """Returns the ids in order."""
        return [row.id for row in self._rows]

    def _repr_html_(self) -> str:
        if not self._rows:
            return "<em>no competitions</em>"
        return _html.table(self._rows[0]._HEADER, (row._cells() for row in self._rows))
