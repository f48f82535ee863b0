"""The names under which a run keeps its quantities in W&B, and in a results file where it has them.

Every track that this trainer is meant for lists these names in its `[evidence.keys]`; a test trains
for each track and holds the two together. Change a name here and in `tracks/*.toml` alike.
"""

LOSS = "eval/loss"  # mean nats per scored target of the corpus's validation split
BPB = "eval/bpb"  # bits per byte of the same text, as `bpb` defines it
PALOMA_BPB = "eval/paloma/c4_en/bpb"  # C4-EN of Paloma, as Levanter computes it: see `levanter`
PALOMA_OWN_BPB = "eval/paloma/c4_en/bpb_exact"  # the same text, as `bpb` defines it
TRAIN_LOSS = "train/loss"
TIME_S = "time/train_s"  # the clock: seconds of training up to and with this step
STEP_TIME_S = "throughput/duration"  # seconds of this step; their sum is the clock
TOKENS = "throughput/total_tokens"  # tokens trained on up to and with this step
TOKENS_PER_S = "throughput/tokens_per_s"
MFU = "throughput/mfu"
MULTIPLIER = "optimizer/multiplier"  # of every learning rate, by the schedule
TOTAL_STEPS = "total_steps"

# Quantity of a track's `[evidence.keys]` -> the name that this trainer gives it. Bits per byte are
# of the text that the track scores, so a track names BPB or PALOMA_BPB.
KEYS: dict[str, tuple[str, ...]] = {
    "loss": (LOSS,),
    "bpb": (BPB, PALOMA_BPB),
    "train_loss": (TRAIN_LOSS,),
    "time_s": (TIME_S,),
    "step_time_s": (STEP_TIME_S,),
    "tokens": (TOKENS,),
    "total_steps": (TOTAL_STEPS,),
}

LOGGED = (TRAIN_LOSS, LOSS, BPB, TIME_S, STEP_TIME_S, TOKENS, TOKENS_PER_S)
