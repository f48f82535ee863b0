"""What can go wrong for reasons that a user can mend. The CLI prints the one sentence, exit 2."""


class TrainerError(Exception):
    """A problem with input, data, device or disk; the message names value, expectation, remedy."""


class ConfigError(TrainerError):
    """A configuration that cannot be trained."""


class DataError(TrainerError):
    """A shard, manifest, cache or tokenizer that does not fit."""


class StorageError(TrainerError):
    """A file that could not be read or written; nothing half-written stays behind."""


class NotFiniteLoss(TrainerError):
    """The loss became NaN or infinite."""


class Stopped(Exception):
    """The run was asked to stop and saved a checkpoint. Not a failure: exit 0."""
