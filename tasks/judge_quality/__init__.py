"""The reliability of the judge: nightly anchor questions, the audit, and a switch to another model."""
