"""Common parts of several families of answers: items, sizes, search options, and record values."""
