"""The report: one HTML file that summarizes records, studies, or a single graph.

`data` reads and arranges, `panels` prepares the values of the templates, `commands` reproduces numbers, and
`build` fills the templates. plotly.js draws the charts in the reader's browser.
"""
