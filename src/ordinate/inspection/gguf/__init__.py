"""GGUF files: `header` reads the bytes, the other files say what the keys mean, `reader` puts the answer together."""
