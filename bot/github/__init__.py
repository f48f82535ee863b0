"""Part of the bot."""
