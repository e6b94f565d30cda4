"""`cstp check`: decisions governing changed files, and whether commits acknowledge them."""
