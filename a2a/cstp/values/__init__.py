"""The values of the protocol: parameters and results of its methods, which the engine takes and returns."""
