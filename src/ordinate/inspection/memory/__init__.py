"""What running a model takes in memory, and whether it fits: weights, cache, recurrent state, logits and activations."""
