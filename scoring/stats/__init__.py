"""Statistics: intervals, agreement, comparison, exact numbers."""
