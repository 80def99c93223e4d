"""The promises of `wsctl_core.ports`, as checks that any implementation can be run against.

Each module has one protocol that says what is under test, `check_*` functions whose docstrings are
the promises, and `CHECKS` with all of them. It knows the core alone, and needs no test framework.
"""
