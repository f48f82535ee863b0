"""The reference trainer: one model and one recipe, in torch and in JAX, whose results verify.

Read in this order: `config` (what is trained), `loop` (how), `torch_backend` or `jax_backend`
(the model, its loss and the step), `results` (what is written). Run `python -m reference_trainer
--help`, or `speedrun train --help`.
"""
