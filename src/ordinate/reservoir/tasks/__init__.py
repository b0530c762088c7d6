"""Benchmark tasks, scored alike on every network, and the card that compares a connectome with its null models."""

from ordinate.reservoir.datasets import ChaoticSeries, DecisionTrials, Narma, lorenz, mackey_glass, narma10, narma30
from ordinate.reservoir.tasks.base import RIDGES, Outcome, ReadTask, Setting, Size, Task, evaluate
from ordinate.reservoir.tasks.card import Card, Plan, draw_card, save_chart
from ordinate.reservoir.tasks.comparison import Comparison, holm, interval, paired
from ordinate.reservoir.tasks.decision import ContextTask, DecisionTask, MatchTask
from ordinate.reservoir.tasks.free_run import FreeRunTask
from ordinate.reservoir.tasks.memory import delayed, memory_capacity, memory_curve
from ordinate.reservoir.tasks.registry import task_named, tasks

__all__ = [
    "RIDGES",
    "Card",
    "ChaoticSeries",
    "Comparison",
    "ContextTask",
    "DecisionTask",
    "DecisionTrials",
    "FreeRunTask",
    "MatchTask",
    "Narma",
    "Outcome",
    "Plan",
    "ReadTask",
    "Setting",
    "Size",
    "Task",
    "delayed",
    "draw_card",
    "evaluate",
    "holm",
    "interval",
    "lorenz",
    "mackey_glass",
    "memory_capacity",
    "memory_curve",
    "narma10",
    "narma30",
    "paired",
    "save_chart",
    "task_named",
    "tasks",
]
