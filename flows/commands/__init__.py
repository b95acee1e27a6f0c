"""The verbs of the command line, a subject a file; `flows.cli` lists them. Heavy imports stand in the functions."""
