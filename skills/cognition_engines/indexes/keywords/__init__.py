"""The keyword index: tantivy, and word weights for a reader."""
