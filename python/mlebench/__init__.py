"""A replacement for MLE-bench's package that calls the program `prep`."""

from mleprep._version import __version__

__all__ = ["__version__"]
