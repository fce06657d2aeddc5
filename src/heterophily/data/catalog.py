"""The datasets of the paper's benchmark, plus Cora and Citeseer: one declared row each.

Sizes and homophily are those of the paper's table and of the raw files; the loader checks every
loaded graph against its row. `n_stored` counts distinct entries of the raw file, `n_symmetric`
those of the symmetrised graph without self-loops, and `paper_counts` says which the paper prints.
"""

from dataclasses import dataclass

from heterophily.core.errors import unknown_name

PLATONOV = "Platonov et al., A critical look at the evaluation of GNNs under heterophily, ICLR 2023"
PEI = "Pei et al., Geom-GCN: Geometric graph convolutional networks, ICLR 2020"
LIU = "Liu et al., Anomaly detection on attributed networks via contrastive learning, TNNLS 2021"
MERNYEI = "Mernyei and Cangea, Wiki-CS: a Wikipedia-based benchmark for GNNs, 2020"
SEN = "Sen et al., Collective classification in network data, AI Magazine 2008"
SHCHUR = "Shchur et al., Pitfalls of graph neural network evaluation, 2018"

GITHUB = "https://raw.githubusercontent.com"
YANDEX = f"{GITHUB}/yandex-research/heterophilous-graphs/main/data"
GEOM_GCN = f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/master/new_data"
COLA = f"{GITHUB}/TrustAGI-Lab/CoLA/main/raw_dataset"
PLANETOID = f"{GITHUB}/kimiyoung/planetoid/master/data"


@dataclass(frozen=True)
class File:
    """A public file and the digest that its bytes must have: SHA-256, or a git object id."""

    name: str
    url: str
    sha256: str = ""
    git_blob: str = ""  # where upstream publishes only this: SHA-1 over "blob <length>\\0" + bytes


@dataclass(frozen=True)
class Dataset:
    """One row of the catalog."""

    name: str
    format: str
    files: tuple[File, ...]
    n_nodes: int
    n_symmetric: int
    n_features: int
    n_classes: int
    edge_homophily: float  # over the edges that the paper counts, two decimals
    citation: str
    licence: str
    n_stored: int | None = None  # None: unknown, the file has not been seen
    paper_counts: str | None = None  # edges "stored" or "symmetric"; None: not in the paper
    undirected: bool = True  # in the paper's table
    about: str = ""

    @property
    def in_paper(self) -> bool:
        """Whether the dataset belongs to the paper's benchmark of ten."""
        return self.paper_counts is not None

    @property
    def paper_edges(self) -> int | None:
        """The number of edges in the paper's table."""
        return {"stored": self.n_stored, "symmetric": self.n_symmetric, None: None}[
            self.paper_counts
        ]


def _planetoid(name: str, digests: dict[str, str]) -> tuple[File, ...]:
    return tuple(
        File(f"ind.{name}.{part}", f"{PLANETOID}/ind.{name}.{part}", digest)
        for part, digest in digests.items()
    )


_ROWS = (
    Dataset(
        name="roman-empire",
        format="heterophilous_npz",
        files=(
            File(
                "roman_empire.npz",
                f"{YANDEX}/roman_empire.npz",
                "a58ba741d123bf892fe5c872138d07463d75a2e9012360b8dd78ac2d4766d428",
            ),
        ),
        n_nodes=22_662,
        n_stored=32_927,
        n_symmetric=65_854,
        paper_counts="symmetric",
        n_features=300,
        n_classes=18,
        edge_homophily=0.05,
        citation=PLATONOV,
        licence="MIT",
        about="words of a Wikipedia article; edges: next word or syntactic dependency",
    ),
    Dataset(
        name="amazon-ratings",
        format="heterophilous_npz",
        files=(
            File(
                "amazon_ratings.npz",
                f"{YANDEX}/amazon_ratings.npz",
                "4c3a3e3b9d9f6cba0fede4625a00aad8c5721c1a36ed771367f446763241c7dd",
            ),
        ),
        n_nodes=24_492,
        n_stored=93_050,
        n_symmetric=186_100,
        paper_counts="symmetric",
        n_features=300,
        n_classes=5,
        edge_homophily=0.38,
        citation=PLATONOV,
        licence="MIT",
        about="products bought together; classes: average rating",
    ),
    Dataset(
        name="chameleon-f",
        format="heterophilous_npz",
        files=(
            File(
                "chameleon_filtered_directed.npz",
                f"{YANDEX}/chameleon_filtered_directed.npz",
                "5a2d40701407188f1661d37a326484b49cc15251e0dedaa7bd380873dac80f21",
            ),
        ),
        n_nodes=890,
        n_stored=13_584,
        n_symmetric=17_708,
        paper_counts="stored",
        n_features=2_325,
        n_classes=5,
        edge_homophily=0.25,
        citation=PLATONOV,
        licence="MIT",
        undirected=False,
        about="Wikipedia pages and links, duplicates removed; classes: traffic",
    ),
    Dataset(
        name="squirrel-f",
        format="heterophilous_npz",
        files=(
            File(
                "squirrel_filtered_directed.npz",
                f"{YANDEX}/squirrel_filtered_directed.npz",
                "0526e53252f0b052124f7390829c32e923d432acaf64206191a1144a07b39620",
            ),
        ),
        n_nodes=2_223,
        n_stored=65_718,
        n_symmetric=93_996,
        paper_counts="stored",
        n_features=2_089,
        n_classes=5,
        edge_homophily=0.22,
        citation=PLATONOV,
        licence="MIT",
        undirected=False,
        about="Wikipedia pages and links, duplicates removed; classes: traffic",
    ),
    Dataset(
        name="actor",
        format="geom_gcn_text",
        files=(
            File(
                "out1_graph_edges.txt",
                f"{GEOM_GCN}/film/out1_graph_edges.txt",
                "997cdce67ea9c29257d3ffe796328391931901cf823830affa453178b60e2c3e",
            ),
            File(
                "out1_node_feature_label.txt",
                f"{GEOM_GCN}/film/out1_node_feature_label.txt",
                "1d5cdd094f8b91e770f6decfca85b35cf42f75d1efb51055fd6af16e11820ff8",
            ),
        ),
        n_nodes=7_600,
        n_stored=30_019,
        n_symmetric=53_318,
        paper_counts="stored",
        n_features=932,
        n_classes=5,
        edge_homophily=0.22,
        citation=PEI,
        licence="none stated",
        undirected=False,
        about="actors on the same Wikipedia page; classes: kinds of pages",
    ),
    Dataset(
        name="flickr",
        format="matlab",
        files=(
            File(
                "Flickr.mat",
                f"{COLA}/Flickr/Flickr.mat",
                "1493f3f261395b232dd37845beae9215c0abccc9d63902a3cc0af7fd4f0972cd",
            ),
        ),
        n_nodes=7_575,
        n_stored=479_476,
        n_symmetric=479_476,
        paper_counts="stored",
        n_features=12_047,
        n_classes=9,
        edge_homophily=0.24,
        citation=LIU,
        licence="MIT",
        about="users who follow each other; features: tags; classes: interest groups",
    ),
    Dataset(
        name="blogcatalog",
        format="matlab",
        files=(
            File(
                "BlogCatalog.mat",
                f"{COLA}/BlogCatalog/BlogCatalog.mat",
                "886e1d8dec043588247ef7188fe6459f2ba657b6b9211d73f255d28b42f06b0c",
            ),
        ),
        n_nodes=5_196,
        n_stored=343_486,
        n_symmetric=343_486,
        paper_counts="stored",
        n_features=8_189,
        n_classes=6,
        edge_homophily=0.40,
        citation=LIU,
        licence="MIT",
        about="bloggers who follow each other; features: words; classes: interest groups",
    ),
    Dataset(
        name="wikics",
        format="wikics_json",
        files=(
            File(
                "data.json",
                f"{GITHUB}/pmernyei/wiki-cs-dataset/master/dataset/data.json",
                git_blob="f1b743119df1a7a3bca449039c54034ae623a756",
            ),
        ),
        n_nodes=11_701,
        n_symmetric=431_206,
        paper_counts="symmetric",
        n_features=300,
        n_classes=10,
        edge_homophily=0.65,
        citation=MERNYEI,
        licence="MIT",
        about="computer science articles of Wikipedia and their links; classes: fields",
    ),
    Dataset(
        name="pubmed",
        format="planetoid",
        files=_planetoid(
            "pubmed",
            {
                "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
                "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
                "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
                "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
                "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
                "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
                "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
                "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            },
        ),
        n_nodes=19_717,
        n_stored=88_651,
        n_symmetric=88_648,
        paper_counts="stored",
        n_features=500,
        n_classes=3,
        edge_homophily=0.80,
        citation=SEN,
        licence="MIT",
        about="papers on diabetes and their citations; classes: kinds of diabetes",
    ),
    Dataset(
        name="photo",
        format="pickled_npz",
        files=(
            File(
                "amazon_photo.npz",
                f"{GITHUB}/EdisonLeeeee/GraphData/master/datasets/amazon_photo.npz",
                "bdb98b54cd3125bfa69b23ba0aae84fabcb770c6727175b8f6eb1d64f3be4b2b",
            ),
        ),
        n_nodes=7_650,
        n_stored=143_663,
        n_symmetric=238_162,
        paper_counts="symmetric",
        n_features=745,
        n_classes=8,
        edge_homophily=0.83,
        citation=SHCHUR,
        licence="MIT",
        about="photo products bought together; classes: product categories",
    ),
    Dataset(
        name="cora",
        format="planetoid",
        files=_planetoid(
            "cora",
            {
                "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
                "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
                "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
                "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
                "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
                "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
                "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
                "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
            },
        ),
        n_nodes=2_708,
        n_stored=10_556,
        n_symmetric=10_556,
        n_features=1_433,
        n_classes=7,
        edge_homophily=0.81,
        citation=SEN,
        licence="MIT",
        about="machine learning papers and their citations; classes: topics",
    ),
    Dataset(
        name="citeseer",
        format="planetoid",
        files=_planetoid(
            "citeseer",
            {
                "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
                "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
                "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
                "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
                "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
                "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
                "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
                "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
            },
        ),
        n_nodes=3_327,
        n_stored=9_228,
        n_symmetric=9_104,
        n_features=3_703,
        n_classes=6,
        edge_homophily=0.74,
        citation=SEN,
        licence="MIT",
        about="computer science papers and their citations; 15 nodes have no label",
    ),
)

CATALOG: dict[str, Dataset] = {row.name: row for row in _ROWS}


def lookup(name: str) -> Dataset:
    """Find the row of a dataset by name."""
    if name not in CATALOG:
        raise unknown_name("dataset", name, CATALOG)
    return CATALOG[name]
