"""Simulations of what the statistics promise. `python -m tests.simulations` prints them all."""
