"""Protocol values: method parameters and results, accepted and returned by the engine."""
