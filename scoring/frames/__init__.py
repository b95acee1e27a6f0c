"""Tables of pandas, Polars and Arrow: what they hold, and their scores as tables of the same kind."""
