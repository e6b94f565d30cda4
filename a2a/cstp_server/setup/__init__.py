"""`cstp setup`: entries in configuration files of agents' programs, added and removed as text."""
