"""The signals by which a record ranks higher than by meaning and words alone, one in each module."""
