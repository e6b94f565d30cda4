"""`cstp check`: the decisions that govern changed files, and whether commits acknowledge them."""
