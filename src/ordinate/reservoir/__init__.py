"""A connectome as a recurrent network: its gain, its dynamics, what can be read out of it, and its left and right."""

__all__: list[str] = []
