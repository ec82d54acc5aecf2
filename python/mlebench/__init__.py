"""MLE-bench's package on top of the program `prep`."""

__version__ = "1.0.0"
