"""Whether the judge can be relied on: anchors night by night, the audit, and the switch to another model."""
