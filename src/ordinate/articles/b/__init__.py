"""The claims of article B, one file each."""

TITLE = "Article B: why sinusoids, towards relative positions"
