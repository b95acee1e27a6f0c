"""What people read: reports in natural Korean."""
