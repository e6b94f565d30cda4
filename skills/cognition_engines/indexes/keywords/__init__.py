"""The keyword index: tantivy, and the weights of words for a reader."""
