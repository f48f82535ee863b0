"""The torch backend: `model`, `optimizers`, `engine`."""
