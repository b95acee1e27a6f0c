"""What people think of the same items: labels, the workbook they come from, and how far scores agree with them."""
