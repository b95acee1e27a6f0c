"""Slack: posts messages through webhooks and bots, and writes mentions."""
