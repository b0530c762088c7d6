"""The lab: every claim of the source articles, measured, with a verdict that is computed and one report.

    claim.py         what is claimed, and where its measurement lives
    measurement.py   what a measurement brings back: checks, tables, figures
    verdict.py       the one function from checks to a verdict
    catalogue.py     every claim there is, found by id; imports nothing heavy
    runner.py        runs claims, isolates the one that fails, writes rows
    machine.py       what the numbers were measured on
    output.py        the folder of a report, never half written
    report.py        rows to one HTML file
    figures.py       the style of every chart
    claims/          one file a claim, one table of rows an article

Importing this package imports neither torch nor matplotlib.
"""
