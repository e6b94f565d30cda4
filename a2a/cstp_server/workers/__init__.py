"""What the workers of one server share: their folder, their windows of limits, how many connections each has."""
