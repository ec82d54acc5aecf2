"""The parts of the package `mlebench` that decide nothing of its interface.

They are in this distribution because some users copy single modules of `mlebench` elsewhere. Each module there therefore
imports only `mlebench` modules that upstream has, too, and this package.
"""
