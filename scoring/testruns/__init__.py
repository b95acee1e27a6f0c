"""A test run's own language: raw JSON, expected results, filter names, numbers in Korean text. No
rubric's formulas."""
