"""Circuits: plain data, their files, and what runs them.

From below: `gates` (the sixteen truth tables), `input_thresholds`, `circuit` (the data), `netlist` (AND and XOR with
complemented edges), `counting` and `adders` (votes as sums of bits), `scheduling` and `program` (a circuit as a straight line
of word operations), `runtime` (those operations on 64 images a word), `files` (JSON) and `figures`.
"""
