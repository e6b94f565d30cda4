"""Which records the answers of methods name, for the audit."""
