"""A directory per competition. In a checkout, the program writes them, see `mleprep._mlebench.definitions`."""

from __future__ import annotations

from collections.abc import Iterator

from mleprep._mlebench import definitions


class _Folders(list[str]):
    """The package's directories. Adds the directory that the program writes if a module is in none of them."""

    def __iter__(self) -> Iterator[str]:
        yield from list(super().__iter__())
        directory = str(definitions.directory())
        if directory not in list(super().__iter__()):
            self.append(directory)
            yield directory


__path__ = _Folders(__path__)
