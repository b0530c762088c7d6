"""The claims of article C, one file each."""

TITLE = "Article C: a practical guide to all encodings"
