"""Slack: who subscribed to what, messages that wait to be sent, and sending them."""
