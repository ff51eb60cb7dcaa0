"""Tests of semantics."""
