"""What a model's file says about position, read without torch."""

from ordinate.inspection.difference import difference
from ordinate.inspection.gguf import inspect_gguf
from ordinate.inspection.huggingface import inspect_config

__all__ = ["difference", "inspect_config", "inspect_gguf"]
