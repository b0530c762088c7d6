"""The lab: claims measured, each with a verdict that is computed, and one report. It knows no article.

    claim.py         what is claimed, and what its measurement gets
    catalogue.py     claims read from a package, a folder or a file, and chosen by id; imports nothing heavy
    measurement.py   what a measurement brings back: checks, tables, figures
    verdict.py       the one function from checks to a verdict
    runner.py        runs claims, isolates the one that fails, writes rows
    machine.py       what the numbers were measured on
    output.py        the folder of a report, never half written
    report.py        rows to one HTML file
    figures.py       the style of every chart

Importing this package imports neither torch nor matplotlib.
"""
