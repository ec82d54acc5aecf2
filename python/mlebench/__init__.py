"""A replacement for MLE-bench's package that calls the program `prep`."""

from mleprep import _version

__version__ = _version.replacement(_version.__version__)

__all__ = ["__version__"]
