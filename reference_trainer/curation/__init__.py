"""Training data as an entry: a pool of texts curated into shards with a manifest, and its check.

`pool` reads what a `pool.toml` names, `score` rates documents, `overlap` compares them with the
validation text, `build` makes the corpus, `verify` holds shards against a manifest.
"""
