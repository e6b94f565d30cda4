"""Field maps from objects of other systems to records."""
