"""When this process began, nearly: the package imports this module before all others."""

from time import monotonic

BEGAN = monotonic()
