"""Circuits in other languages: C, Verilog, BLIF and AIGER, and gates gathered into look-up tables."""
