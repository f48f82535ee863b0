"""Training logs. The entry is `bot.evidence.log.training_log.read`: bytes to runs, and what of them
was not read; `header.source_sha256` is the hash that names a source file.

    text -> lines, table -> training_log -> problems, near      names, header beside them
"""
