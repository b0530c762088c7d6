"""The claims of article d."""
