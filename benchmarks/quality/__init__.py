"""How good the answers are, on texts that the code was not tuned to."""
