"""Alerts: the outbox of messages, the channels that send them, and the content of a day's messages."""
