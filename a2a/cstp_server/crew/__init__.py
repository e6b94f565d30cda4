"""The parent of several workers: it starts them, replaces one that dies, and ends with the last of them."""
