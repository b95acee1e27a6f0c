"""The state database: ledger of runs, leases, erased sessions."""
