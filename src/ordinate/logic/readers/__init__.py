"""Circuits that other programs made: BLIF and AIGER files, and networks of torchlogix, difflogic and torch-dwn."""
