"""Alerts: messages that wait in the outbox, the channels that send them, and what there is to say of a day."""
