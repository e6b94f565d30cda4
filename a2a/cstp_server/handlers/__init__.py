"""One module per family of methods: wire model to skill arguments, skill result to wire model."""
