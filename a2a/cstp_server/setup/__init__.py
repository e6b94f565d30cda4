"""`cstp setup`: entries in the configuration files of agents' programs, added and removed as text."""
