"""Tests of explorer."""
