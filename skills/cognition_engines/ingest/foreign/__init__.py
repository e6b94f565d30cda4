"""What other systems wrote: how it is recognised, and how its values become plain ones."""
