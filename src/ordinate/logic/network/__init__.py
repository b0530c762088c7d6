"""Networks of relaxed gates: their layers and wiring, training, files, and the circuit that they become."""
