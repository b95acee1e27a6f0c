"""The rubrics, a folder each. A folder that defines `RUBRIC` is a rubric; nothing else registers it."""

DEFAULT_ROW_RUBRIC = "ola-monitoring"
"""The default rubric of chat rows."""
