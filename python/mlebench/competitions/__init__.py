"""A folder per competition, written by the program when one is first imported; see `mlebench._definitions`."""

from __future__ import annotations

from collections.abc import Iterator

from mlebench import _definitions


class _Folders(list[str]):
    """The package's folders. The written one is added when a module is looked for, not when the package is imported."""

    def __iter__(self) -> Iterator[str]:
        folder = str(_definitions.folder())
        if not self.__contains__(folder):
            self.append(folder)
        return super().__iter__()


__path__ = _Folders(__path__)
