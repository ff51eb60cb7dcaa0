"""When this process began, nearly: the package imports this module before all others, which take most of a second."""

from time import monotonic

BEGAN = monotonic()
