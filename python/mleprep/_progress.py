"""Shows the messages of a running program: in a notebook as a bar of tqdm if it is installed, otherwise as lines."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mleprep import _words

_STARTED = re.compile(r"(\S+): started, (\d+) steps?")
_ENDED = re.compile(r"(\S+): (done|failed|stopped)\b.*")
# Lines that belong to the error above them.
_CONTINUES = re.compile(r"\s|$|For more information|Usage:")
_SHARE = re.compile(r"(\d+) of (\d+) \w+,")

Show = Callable[[str], object]


@contextmanager
def listener(
    progress: bool | Show, hides_errors: bool, translate: Callable[[str], str | None] = _words.translated
) -> Iterator[Show | None]:
    """Provides a function that shows each line of a call. Lines of errors that become an exception are not shown.

    Without `hides_errors`, an error is shown with the next message, or at the end of the block unless that raises.
    """
    if not progress:
        yield None
        return
    tqdm = _tqdm() if progress is True else None
    bar = _Bar(tqdm) if tqdm else None
    show: Show = progress if callable(progress) else bar or _print
    is_error = False
    held: list[str] = []

    def show_line(line: str) -> None:
        nonlocal is_error
        is_error = line.startswith("error: ") or (is_error and _CONTINUES.match(line) is not None)
        if not is_error:
            show_held()
            show_translated(line)
        elif not hides_errors:
            held.append(line)

    def show_held() -> None:
        while held:
            show_translated(held.pop(0))

    def show_translated(line: str) -> None:
        translated = translate(line)
        if translated is not None:
            show(translated)

    try:
        yield show_line
        show_held()
    finally:
        if bar is not None:
            bar.close()


def _print(line: str) -> None:
    # Look up `sys.stderr` for each line, because notebooks replace it.
    print(line, file=sys.stderr)


def is_notebook() -> bool:
    """Whether the cells of a notebook show the output."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return any(base.__name__ == "ZMQInteractiveShell" for base in type(shell).__mro__)


def _tqdm() -> Any:
    """Returns the class for bars in a notebook. Returns None outside of notebooks, and if it is not installed."""
    if is_notebook():
        with suppress(ImportError), warnings.catch_warnings():
            # Without ipywidgets, tqdm warns and shows the bar as text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

            return tqdm
    return None


class _Bar:
    """A bar of tqdm that counts steps. Other messages than those about progress are printed."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        #: The number of steps of each competition that started.
        self._steps: dict[str, int] = {}

    def __call__(self, line: str) -> None:
        done, total = (self._bar.n, self._bar.total) if self._bar else (0, 0)
        if started := _STARTED.fullmatch(line):
            self._steps[started[1]] = int(started[2])
            self._show(started[1], done, max(total, sum(self._steps.values())))
        elif ended := _ENDED.fullmatch(line):
            self._show(line, done + self._steps.get(ended[1], 0) * (ended[2] == "done"), total)
        elif share := _SHARE.match(line):
            self._show(line, int(share[1]), int(share[2]))
        else:
            _print(line)

    def _show(self, text: str, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._tqdm(total=total, unit="step")
        elif self._bar.total != total:
            # Only this method of tqdm changes the length of the bar in a notebook. It also restarts the clock.
            start = self._bar.start_t
            self._bar.reset(total)
            self._bar.start_t = start
        self._bar.n = min(done, total)
        self._bar.set_description(text)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
