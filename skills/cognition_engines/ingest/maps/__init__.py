"""Maps of fields, by which objects of other systems become records."""
