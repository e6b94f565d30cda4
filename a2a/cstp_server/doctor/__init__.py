"""What `cstp doctor` looks at. Every check only looks, and tells what is wrong instead of raising it."""
