"""Part of Speedrun."""
