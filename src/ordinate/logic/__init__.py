"""Networks of logic gates: trained by relaxation or grown, turned into circuits, proven, run, and put on a chip."""

__all__: list[str] = []
