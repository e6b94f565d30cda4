"""The methods of the protocol, one module per family; `cstp.methods.registry` lists them all."""
