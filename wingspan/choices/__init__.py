"""Choices that a program leaves open, which keep its meaning: where it runs in parallel, among what the level
dependence test accepts; and of a whole expression, the order of loops and the formats, by estimated work.
"""
