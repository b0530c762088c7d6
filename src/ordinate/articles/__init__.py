"""The claims of the four source articles: one file a claim, with its record, its measurement, its charts and what results mean.

`ordinate.lab.catalogue.read_claims("ordinate.articles")` lists them without importing what measures them. The files at the top
of this package and those without a claim's number hold set-ups that several claims share.
"""
