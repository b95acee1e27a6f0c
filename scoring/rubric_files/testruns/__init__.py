"""Test-run rubrics that people write as TOML files. Source: SPEC 13."""
