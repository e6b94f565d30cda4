"""`cstp hook`: context for an agent at program events. Imports little, as it runs before each edit."""
