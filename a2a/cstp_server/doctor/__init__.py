"""What `cstp doctor` looks at. Every check only reads, and reports what is wrong instead of raising it."""
