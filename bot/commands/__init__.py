"""The commands of `speedrun`, one module each; thin over the engine."""
