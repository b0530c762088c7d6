"""What a model's file says about position, read without torch."""
