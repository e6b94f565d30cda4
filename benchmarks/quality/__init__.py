"""The quality of the answers, on texts that the code was not tuned to."""
