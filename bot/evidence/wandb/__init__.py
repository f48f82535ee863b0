"""W&B. The entries are `bot.evidence.wandb.online.WandbFetcher` for linked runs and
`bot.evidence.wandb.offline.read_offline` for a `.wandb` file; `build` makes the runs of both.

    client, rows, attached -> online -> history, marks, contradictions -> build <- offline
"""
