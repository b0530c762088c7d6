"""Train short, test long: a small decoder with each encoding, trained at one length and tested at many.

`ordinate sweep` is the command. `presets` and `cell` say what is run and import no torch; `measure.run_cell` turns
the settings of one cell into its record; `store` keeps records, `engine` runs cells wherever there are processors, `summary`,
`tables` and `figures` show what came out.
"""

from ordinate.sweep.cell import Cell
from ordinate.sweep.presets import DEFAULT, FULL, QUICK, Preset
from ordinate.sweep.store import Store

__all__ = ["DEFAULT", "FULL", "QUICK", "Cell", "Preset", "Store"]
