"""Sparse tensor programs with parallel loops: explored, checked and run."""
