"""The version of wingspan, as its package was installed."""

from importlib.metadata import version

__version__ = version("wingspan")
