"""Choices that keep a program's meaning: where it runs in parallel, among what the level dependence test accepts."""
