"""The ledger and everything that is derived from it."""
