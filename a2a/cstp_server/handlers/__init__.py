"""A module per family of methods: from wire model to engine arguments, from engine result to wire model."""
