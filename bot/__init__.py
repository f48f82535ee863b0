"""Speedrun: run a machine-learning speedrun competition by pull request."""

__version__ = "0.1.0"
