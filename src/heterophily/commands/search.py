"""The command `heterophily search`."""

from pathlib import Path
from typing import Annotated

import typer

from heterophily.commands.options import Nodes, Source, chosen

search_app = typer.Typer()


@search_app.command()
def search(
    model: Annotated[
        str,
        typer.Argument(help="A method, a file with a recipe, or htmp: the mechanism is searched."),
    ],
    source: Source,
    trials: Annotated[int, typer.Option(min=1, help="How many in all; a rerun adds the missing.")],
    out: Annotated[Path, typer.Option(help="Folder of the study, summary, winner and figures.")],
    nodes: Nodes = None,
    splits: Annotated[
        str | None, typer.Option(help="all, 0-2 or 0,3; the first three by default.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; several have one thread each.")
    ] = 1,
    storage: Annotated[
        str | None, typer.Option(help="URL of an Optuna storage, to search on many machines.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampler and of training.")] = 0,
    write: Annotated[
        Path | None,
        typer.Option(help="Put the winner into this .toml file of settings too (htmp: .py)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting that is not searched; repeatable."),
    ] = None,
) -> None:
    """Search the settings of a method, or a mechanism, by validation accuracy; resumes."""
    from heterophily.data.loading import open_graph
    from heterophily.search import search
    from heterophily.views.console import console
    from heterophily.views.search_console import found_view

    found = search(
        model,
        open_graph(source, nodes=nodes),
        trials=trials,
        out=out,
        splits=splits,
        workers=workers,
        storage=storage,
        seed=seed,
        settings=chosen(settings),
        write=write,
    )
    console().print(found_view(found))
