"""MLE-bench's package on top of the program `prep`."""

from mleprep._version import __version__

__all__ = ["__version__"]
