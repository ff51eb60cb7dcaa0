"""Tests of dependence."""
