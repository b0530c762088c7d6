"""The claims of article C, one file each."""

TITLE = "C: a practical guide to all encodings"
