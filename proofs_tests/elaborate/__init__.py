"""Tests of elaborate."""
