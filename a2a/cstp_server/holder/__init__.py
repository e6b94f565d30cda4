"""Several processes over a single data folder: a holder answers all calls, over a socket in the folder."""
