"""The pages of `aqb web`: rows, alerts, and who may see and change what."""
