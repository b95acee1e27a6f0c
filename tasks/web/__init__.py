"""The pages of `aqb web`: rows, alerts, test runs, review, and access control."""
