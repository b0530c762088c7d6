"""The published rules, written once more: small float64 formulas that share no line with `ordinate.position`.

A verifier that took its expectations from the encodings of this package would be silent about a fault that both have.
"""
