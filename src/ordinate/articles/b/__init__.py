"""The claims of article B, one file each."""

TITLE = "B: why sinusoids, towards relative positions"
