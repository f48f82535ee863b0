"""`python -m reference_trainer` is `speedrun train`."""

from reference_trainer.cli import train

if __name__ == "__main__":
    train(prog_name="python -m reference_trainer")
