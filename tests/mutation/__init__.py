"""Mutants of what decides: small faults put into the source, to see whether a test notices."""
