"""Tests of accesses."""
