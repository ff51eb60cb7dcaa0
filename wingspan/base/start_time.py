"""The start time of this process, nearly: the package imports this module before all others."""

from time import monotonic

BEGAN = monotonic()
