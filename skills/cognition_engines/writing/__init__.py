"""Writing: what agents may write, under which rules, and the one door through which all of it goes."""
