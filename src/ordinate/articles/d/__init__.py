"""The claims of article D, one file each."""

TITLE = "Article D: an engineer's posts on sinusoids (2023), pooling, logic gates and reservoirs (2026)"
