"""`study`: run a study by its name, and return its tables, charts, and findings."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from heterophily.core.arguments import PATH, check_argument, check_sequence
from heterophily.core.chart import Chart
from heterophily.core.errors import unknown_name
from heterophily.core.graph import Graph
from heterophily.runs.execute import OpenDisplay, no_display
from heterophily.studies import STUDIES, AnyStudy
from heterophily.studies.study import GraphOptions, run_study
from heterophily.studies.tidy import Tables


@dataclass(frozen=True)
class StudyResult:
    """The tables of a study, with charts and sentences that follow from them.

    Attributes
    ----------
    study
        The study.
    tables
        Rows by the name of their table.
    files
        Paths of the tables; empty if they were not written.
    """

    study: AnyStudy
    tables: Tables
    files: tuple[Path, ...] = ()

    @property
    def summary(self) -> list[str]:
        """The lines that the command prints."""
        return list(self.study.summary(self.tables))

    @property
    def findings(self) -> list[str]:
        """Sentences about the results."""
        return list(self.study.findings(self.tables))

    @property
    def charts(self) -> list[Chart]:
        """The charts as data."""
        return list(self.study.charts(self.tables))


def study(
    name: str,
    graphs: str | Path | Graph | Sequence[str | Path | Graph] = (),
    *,
    out: Path | str | None = None,
    display: OpenDisplay = no_display,
    **options: object,
) -> StudyResult:
    """Repeat a study of the paper on any graph.

    Parameters
    ----------
    name
        Name of a study, as listed by ``heterophily study --help``.
    graphs
        Name of a dataset, path of a graph, or graph; or a sequence of these.
    out
        Folder for the tables and the records of runs, from which a later call continues; by default, nothing is stored.
    display
        Shows the progress of the runs; by default, nothing is shown.
    **options
        Options of the study: the fields of ``STUDIES[name].options``, such as `models`, `splits`, and `settings`.

    Returns
    -------
    A `StudyResult` with `tables`, `charts`, `summary`, and `findings`.

    Examples
    --------
    >>> from heterophily import study
    >>> result = study("overlap", "digits")
    >>> sorted(result.tables)
    ['overlap', 'overlap-distribution', 'overlap-histogram']
    """
    check_argument("out", out, PATH, optional=True)
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    chosen = STUDIES[name]
    known = [field.name for field in fields(chosen.options)]
    for option in options:
        if option not in known:
            raise unknown_name(f"option of the study {name}", option, known)
    given = [graphs] if isinstance(graphs, str | Path | Graph) else list(check_sequence("graphs", graphs))
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    if given:
        values["graphs"] = tuple(each if isinstance(each, Graph) else str(each) for each in given)
    return run_options(chosen, chosen.options(out=None if out is None else Path(out), **values), display=display)


def run_options(chosen: AnyStudy, options: GraphOptions, *, display: OpenDisplay = no_display) -> StudyResult:
    """Run a study with its options."""
    tables = run_study(chosen, options, display=display)
    files = () if options.out is None else tuple(options.out / f"{table}.json" for table in tables)
    return StudyResult(chosen, tables, files)
