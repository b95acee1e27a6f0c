"""Chat rows: sources, the two engines, the plan of days, score tables and the queries on them."""
