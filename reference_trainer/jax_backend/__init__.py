"""The JAX backend: `model`, `optimizers`, `step`, `engine`; `ahead` compiles for absent TPUs."""
