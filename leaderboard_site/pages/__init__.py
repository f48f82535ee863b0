"""One module a kind of page. Each turns a `Site` into (path, text) pairs and nothing else."""
