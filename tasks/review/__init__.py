"""Human review: labels, the review workbook, and the agreement of scores with labels."""
