"""Where the graph of a fit came from, so that later commands can read it again."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph

FILE = "source.json"


@dataclass(frozen=True)
class GraphSource:
    """Name of a dataset, or path of a graph and of its table of nodes, with the checksum of edges and features.

    Examples
    --------
    >>> from pathlib import Path
    >>> from heterophily import load
    >>> GraphSource.of(load("digits"), "digits", None).source
    'digits'
    """

    source: str
    nodes: str | None
    checksum: str

    @classmethod
    def of(cls, graph: Graph, source: str, nodes: Path | None) -> "GraphSource":
        """Describe the source of a graph. Paths become absolute."""
        path = str(Path(source).resolve()) if Path(source).exists() else source
        return cls(path, None if nodes is None else str(nodes.resolve()), graph.structure_checksum)

    def write(self, folder: Path) -> Path:
        """Write the source into a folder of results."""
        path = folder / FILE
        write_atomically(path, lambda p: p.write_text(json.dumps(asdict(self), indent=2)))
        return path

    @classmethod
    def read(cls, folder: Path) -> "GraphSource":
        """Read what `write` wrote, or raise an error."""
        path = folder / FILE
        try:
            content = json.loads(path.read_text())
            source = cls(content["source"], content["nodes"], content["checksum"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HeterophilyError(
                f"{folder} does not name the graph of its model ({FILE} is missing or damaged); pass it with --graph"
            ) from error
        if not (isinstance(source.source, str) and isinstance(source.nodes, str | None)):
            raise HeterophilyError(f"{path} must contain the path of a graph; pass it with --graph")
        return source
