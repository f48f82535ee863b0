"""W&B. The entries are `bot.evidence.wandb.online.WandbFetcher` for linked runs and
`bot.evidence.wandb.offline.read_offline` for a `.wandb` file; both fill what `build` makes a run of.

    client, rows, attached -> online -> history, marks, contradictions -> build <- offline
"""
