"""The local API: how apps and the command line use a node."""
