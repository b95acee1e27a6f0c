"""The state database: run ledger, leases, erased sessions, snoozed and accepted alerts."""
