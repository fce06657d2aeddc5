"""The report: one HTML file that summarizes records, studies, or a single graph.

`data` reads and arranges, `panels` prepares the values of the templates, `commands` reproduces numbers, and
`build` fills the templates. Charts are inline SVG, so they need neither a network nor a script.
"""

from heterophily.core.extras import require

require("a report", "jinja2", "matplotlib")
