"""Other memory stores: their dumps and their live collections, read as records by maps of fields."""
