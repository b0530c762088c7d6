"""Position in attention, connectome reservoirs and logic-gate networks, with every claim measured.

Importing this package imports nothing heavy: torch comes in with `ordinate.position` or `ordinate.attention`.
"""

__version__ = "0.1.0"
