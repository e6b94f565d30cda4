"""Record kinds: a definition each, which validates, describes and stores the kind."""
