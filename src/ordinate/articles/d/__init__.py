"""The claims of article D, one file each."""

TITLE = "Article D: an engineer's posts on sinusoids, pooling, reservoirs and logic gates"
