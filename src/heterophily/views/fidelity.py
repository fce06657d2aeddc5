"""The fidelity page: what each recipe does differently from its paper or its program.

`python -m heterophily.views.fidelity` prints docs/fidelity.md from the registry.
"""

from heterophily.htmp.recipe import Recipe
from heterophily.models import CLASSICS, PUBLISHED
from heterophily.views.stories import STORIES

HEAD = """# Fidelity

Every method is tested against a dense transcription of its published equations, in values and gradients,
and against PyTorch Geometric's layer where one exists. Defaults are the published mathematics. Where the
program that produced the published numbers computes something else, the preset `reference` sets every one of
its quirks: `build("gcn", graph, preset="reference")`. This page is printed from the recipes by
`python -m heterophily.views.fidelity`.
"""


def page() -> str:
    """The whole page as Markdown."""
    return "\n".join([HEAD, *(_section(recipe) for recipe in (*PUBLISHED, *CLASSICS))])


def _section(recipe: Recipe) -> str:
    lines = [f"## {recipe.title}", "", recipe.paper + ".", "", f"    {recipe.equation}", ""]
    lines += [f"* {sentence}." for sentence in recipe.deviations] or ["No deviation."]
    if recipe.reference:
        changed = ", ".join(f"`{name} = {value}`" for name, value in recipe.reference.items())
        lines += ["", f"Preset `reference`: {changed}."]
    if recipe.name in STORIES:
        lines += ["", STORIES[recipe.name].rstrip()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")
