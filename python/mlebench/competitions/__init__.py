"""A folder per competition, written by the program when it is first needed; see `mlebench._definitions`."""

from mlebench import _definitions

_folder = str(_definitions.folder())
if _folder not in __path__:
    __path__.append(_folder)
