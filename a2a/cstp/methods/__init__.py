"""Protocol methods, a module per family; `cstp.methods.registry` lists them all."""
