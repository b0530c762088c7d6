"""Circuits on chips: synthesis, place and route, simulation and proof with open tools."""
