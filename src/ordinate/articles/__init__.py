"""One file a claim: what the article says, what varies, what is measured, the expected band. `article_*.py` list them."""
