"""The steps of flows: the day, the site, alerts, failure hooks, subscriptions."""
