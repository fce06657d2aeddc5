"""The report: one HTML file with everything that records, studies or a single graph tell.

`data` reads and arranges, `charts` makes figures as plain data, `commands` says how to get a number again,
`build` fills the templates. The drawing is done by plotly.js in the reader's browser.
"""
