"""The fidelity page: how each method differs from its paper or its reference implementation.

`python -m heterophily.views.fidelity` prints docs/explanation/fidelity.md from the registry.
"""

from heterophily.htmp.method import Deviation, Method, equation_of
from heterophily.models import BUILT_IN
from heterophily.views.console import setting_text
from heterophily.views.templates import read_text

HEAD = """# Fidelity

Every method is tested against a dense transcription of its published equations, in values and gradients, and
against the corresponding layer of PyTorch Geometric if there is one. The defaults follow the published
equations. If the implementation that produced the published numbers computes something else, the preset
`reference` reproduces it: `build("gcn", graph, preset="reference")`. The settings of this preset are listed
after each difference. `python -m heterophily.views.fidelity` generates this page from the methods.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *(_section(method) for method in BUILT_IN.values())])


def _section(method: type[Method]) -> str:
    lines = [f"## {method.title}", "", method.paper + ".", "", f"    {equation_of(method)}", ""]
    lines += [_item(deviation) for deviation in method.deviations] or ["No deviation."]
    notes = read_text(f"fidelity-{method.name}.md")
    lines += ["", notes.rstrip()] if notes else []
    return "\n".join([*lines, ""])


def _item(deviation: Deviation) -> str:
    pairs = deviation.reference_settings.items()
    settings = ", ".join(f"`{name} = {setting_text(value)}`" for name, value in pairs)
    return f"* {deviation.description}" + (f" Reference: {settings}." if settings else "")


if __name__ == "__main__":
    print(page(), end="")
