"""What is forgotten: what goes with it, the ledger of it, what expires, and a database without it."""
