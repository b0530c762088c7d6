"""The properties of each kind of position code: functions from a subject to an observation."""
