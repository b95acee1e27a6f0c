"""The state database: ledger of runs, leases, erased sessions, snoozed and accepted alerts."""
