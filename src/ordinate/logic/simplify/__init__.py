"""Passes that make a circuit smaller without changing one score of it, each proven in the tests."""

from ordinate.logic.simplify.fixpoint import PASSES, Simplified, absorb, drop_dead, fold, share, simplify, sweep

__all__ = ["PASSES", "Simplified", "absorb", "drop_dead", "fold", "share", "simplify", "sweep"]
