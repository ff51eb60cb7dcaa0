"""Tests of lang."""
