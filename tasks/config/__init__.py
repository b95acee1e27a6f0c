"""Settings and all their sections, addresses, secrets."""
