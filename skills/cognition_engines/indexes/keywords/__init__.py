"""The keyword index: tantivy, and what words weigh for a reader."""
