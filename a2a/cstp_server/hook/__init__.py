"""`cstp hook`: context for an agent at events of its program. Imports little, as it runs before each edit."""
