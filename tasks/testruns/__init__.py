"""Test runs: their files, scoring, judging, tables and the inbox."""
