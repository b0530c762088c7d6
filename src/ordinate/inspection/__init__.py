"""What a model's file says about position, read without torch."""

from ordinate.inspection.huggingface import inspect_config

__all__ = ["inspect_config"]
