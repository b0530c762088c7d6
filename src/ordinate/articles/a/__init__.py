"""The claims of article a."""
