"""The rubrics, a folder each. A folder that defines `RUBRIC` is a rubric; nothing else registers it."""
