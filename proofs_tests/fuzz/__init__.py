"""Fuzz targets: for each reader of wingspan, inputs to start from, changes that keep most of their form, and a check.

`targets.py` has the targets, `mutations.py` the changes. proofs_tests/testing/test_fuzz.py samples each of them, and
bench/fuzz.py runs them under a coverage-guided fuzzer.
"""
