"""Shows the messages of a running program: in a notebook as a bar of tqdm if it is installed, otherwise as lines."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mleprep import _words

_EVENT = re.compile(r"\S+: (started|done|failed|stopped)\b.*")
# Lines that belong to the error or the warning above them.
_CONTINUES = re.compile(r"\s|$|For more information|Usage:")
_PERCENT = re.compile(r"\d+ of \d+ steps(?:, \d+ of \d+ competitions)?, (\d+) %")

Show = Callable[[str], object]


@contextmanager
def listener(
    progress: bool | Show, hidden: Collection[str], translate: Callable[[str], str | None] = _words.translated
) -> Iterator[Show | None]:
    """Provides a function that shows the lines of a call, except messages whose level (`error`, `warning`) is `hidden`.

    Shows an error with the next message. Shows the last error at the end of the block, unless the block raises.
    """
    if not progress:
        yield None
        return
    tqdm = _tqdm() if progress is True else None
    bar = _Bar(tqdm) if tqdm else None
    show: Show = progress if callable(progress) else bar or _print
    level = ""
    held: list[str] = []

    def show_line(line: str) -> None:
        nonlocal level
        if not level or not _CONTINUES.match(line):
            level = next((one for one in ("error", "warning") if line.startswith(f"{one}: ")), "")
        if level in hidden:
            return
        if level == "error":
            held.append(line)
        else:
            show_held()
            show_translated(line)

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
        if bar is not None:
            bar.complete()
    finally:
        if bar is not None:
            bar.close()


def _print(line: str) -> None:
    # Reads `sys.stderr` for each line, because notebooks replace it during a call.
    print(line, file=sys.stderr)


def is_notebook() -> bool:
    """Whether the cells of a notebook show the output."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return any(base.__name__ == "ZMQInteractiveShell" for base in type(shell).__mro__)


def _tqdm() -> Any:
    """Returns tqdm's class for notebooks. Returns None outside of notebooks, and without tqdm."""
    if is_notebook():
        with suppress(ImportError), warnings.catch_warnings():
            # Without ipywidgets, tqdm warns and shows the bar as text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

            return tqdm
    return None


def environment(progress: bool | Show) -> dict[str, str]:
    """Returns environment variables for a call. The bar needs the percentage each second, instead of every ten seconds."""
    return {"PREP_STATUS_SECONDS": "1"} if progress is True and _tqdm() else {}


class _Bar:
    """A bar of tqdm that shows the percentage of the call, which never decreases. Other messages are printed."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._is_failed = False

    def __call__(self, line: str) -> None:
        percent, event = _PERCENT.match(line), _EVENT.fullmatch(line)
        if not percent and not event:
            _print(line)
            return
        if self._bar is None:
            # Without tqdm's estimate of the remaining time, because the messages contain the program's estimate.
            self._bar = self._tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}")
        if event and event[1] in ("failed", "stopped"):
            self._is_failed = True
        self._bar.n = max(self._bar.n, int(percent[1]) if percent else 0)
        self._bar.set_description(line)

    def complete(self) -> None:
        """Shows 100 %, unless a competition failed."""
        if self._bar is not None and not self._is_failed:
            self._bar.n = self._bar.total
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
