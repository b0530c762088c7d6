"""Circuits grown gate by gate: `scoring` finds gates and votes, `state` holds the growing circuit, `grow` runs the rounds."""
