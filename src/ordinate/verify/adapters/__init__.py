"""From any of the field's shapes to one: what a subject is called with, by its parameter names and by trying."""
