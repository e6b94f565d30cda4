"""Several processes over one data folder: one holds it and answers the calls of all, over a socket in the folder."""
