"""Benchmarks and simulations: `python -m tests.benchmarks` runs them all."""
