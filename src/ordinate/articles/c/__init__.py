"""The claims of article c."""
