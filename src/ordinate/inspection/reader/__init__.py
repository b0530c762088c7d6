"""How the settings of one part are read: look-ups, heads, rotations, scalings, tables, and their assembly into a part."""
