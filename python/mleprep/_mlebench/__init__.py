"""The implementation of the package `mlebench`, without its public interface.

Some users copy single modules of `mlebench` elsewhere. Therefore a module of `mlebench` imports only this package, and
`mlebench` modules that upstream also has.
"""
