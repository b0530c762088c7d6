"""The claims of article b."""
