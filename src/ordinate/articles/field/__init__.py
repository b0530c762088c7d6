"""Claims of recent papers beside the four articles, one file each. Statements follow the papers' abstracts, in our words."""

TITLE = "The field: claims of papers of 2025 and 2026"
