"""What pyproject.toml cannot say."""

from setuptools import setup

setup()
