"""The rule language: expressions and bands, their order of evaluation, and the three backends."""
