"""The implementation of the package `mlebench`, without its public interface.

These modules are in this distribution because some users copy single modules of `mlebench` elsewhere. Therefore each
module of `mlebench` imports only this package and those `mlebench` modules that upstream also has.
"""
