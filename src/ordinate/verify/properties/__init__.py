"""The laws of each kind of position code: functions from a subject to what was seen."""
