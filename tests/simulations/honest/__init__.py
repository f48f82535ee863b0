"""Honest submissions, drawn at random and judged as `speedrun check` judges them.

    python -m tests.simulations.honest 500 --seed 0

`machines` says what people train on and how each source names it, `training` draws what a run
measures, and `logs`, `wandb_runs` and `results` write it down as people's programs do. `programs`,
`trainer` and `marin` make submissions of it, by the program that trained. None of it knows a rule:
formats come from the documentation, magnitudes from published runs. A submission that is rejected
is a fault of the bot or of this generator.
"""
