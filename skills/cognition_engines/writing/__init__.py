"""Writing: what agents may write, under which rules, and the writer through which all of it goes."""
