"""Contains a directory for each competition. In a checkout, the program writes these directories: see
`mleprep._mlebench.definitions`."""

from __future__ import annotations

from collections.abc import Iterator

from mleprep._mlebench import definitions


class _Folders(list[str]):
    """The package's directories. If they do not contain a module, adds the directory that the program writes."""

    def __iter__(self) -> Iterator[str]:
        yield from list(super().__iter__())
        directory = str(definitions.directory())
        if directory not in list(super().__iter__()):
            self.append(directory)
            yield directory


__path__ = _Folders(__path__)
