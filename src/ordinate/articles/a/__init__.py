"""The claims of article A, one file each."""

TITLE = "Article A: an experimenter's notebook on attention and sinusoids"
