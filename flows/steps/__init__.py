"""What a flow is composed of: the day, the site, alerts, failure hooks, subscriptions."""
