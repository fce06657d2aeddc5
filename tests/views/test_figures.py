import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from heterophily.core.chart import matrix_chart
from heterophily.core.errors import HeterophilyError
from heterophily.views.matplotlib import draw_chart, draw_charts, save_charts, save_figure

MAGIC = {".png": b"\x89PNG\r\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


def random_matrix(k):
    return np.random.default_rng(0).dirichlet(np.ones(k), size=k)


def save_compatibility(matrix, names, path, title=""):
    return save_charts([matrix_chart(matrix.tolist(), list(names), title)], path)


def draw_compatibility(axes, matrix, names, title="", peak=None):
    draw_chart(axes, matrix_chart(matrix.tolist(), list(names), title, peak=peak))
    return axes.images[0]


@pytest.fixture
def figure_of():
    """The figure that would be saved, laid out."""

    def make(names, title=""):
        figure = draw_charts([matrix_chart(random_matrix(len(names)).tolist(), names, title)])
        figure.draw_without_rendering()
        return figure

    return make


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_ending_chooses_the_format(tmp_path, suffix):
    path = save_compatibility(random_matrix(3), "abc", tmp_path / "new" / f"m{suffix}")
    assert path == tmp_path / "new" / f"m{suffix}"
    assert path.read_bytes().startswith(MAGIC[suffix])
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_dark_cells_are_large_shares(tmp_path):
    matrix = np.array([[0.9, 0.1], [0.1, 0.9]])
    image = imread(save_compatibility(matrix, "ab", tmp_path / "m.png"))
    blue = (image[..., 2] - image[..., 0] > 0.3).mean()
    assert 0.1 < blue < 0.5


@pytest.mark.parametrize("name", ["m.jpg", "m", "m.txt"])
def test_other_endings_are_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(HeterophilyError, match=r"a figure file with extension \.png, \.pdf, \.svg, got 'm"):
        save_compatibility(random_matrix(2), "ab", tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_drawing_shows_the_matrix_with_rows_as_nodes():
    matrix, names = random_matrix(4), ["one", "two", "three", "four"]
    axes = Figure().subplots()
    image = draw_compatibility(axes, matrix, names, title="M")
    np.testing.assert_array_equal(image.get_array(), matrix)
    assert [text.get_text() for text in axes.get_yticklabels()] == names
    assert [text.get_text() for text in axes.get_xticklabels()] == names
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written[3, 1] == f"{matrix[1, 3]:.2f}".removeprefix("0")
    assert axes.get_ylabel() == "class of node"
    assert axes.get_title() == "M"


def test_several_matrices_may_share_one_scale():
    image = draw_compatibility(Figure().subplots(), np.full((2, 2), 0.5), "ab", peak=0.8)
    assert image.get_clim() == (0, 0.8)


@pytest.mark.parametrize(
    ("k", "n_panels", "width"), [(2, 1, 3.4), (10, 1, 3.4), (10, 3, 7.0), (30, 1, 7.0), (30, 3, 7.0)]
)
def test_figures_fit_a_column_or_a_page_with_readable_text(k, n_panels, width):
    names = [f"c{i}" for i in range(k)]
    figure = draw_charts([matrix_chart(random_matrix(k).tolist(), names, "M")] * n_panels)
    assert width / 2 < figure.get_figwidth() <= width + 1e-6
    assert all(text.get_fontsize() >= 4.5 for axes in figure.axes for text in axes.texts)
    assert figure.axes[0].title.get_fontsize() == 8


def test_fonts_are_embedded_and_figures_are_reproducible(tmp_path):
    for suffix in (".pdf", ".svg"):
        first, second = (save_compatibility(random_matrix(3), "abc", tmp_path / f"{i}{suffix}") for i in (1, 2))
        assert first.read_bytes() == second.read_bytes()
    content = (tmp_path / "1.pdf").read_bytes()
    assert b"/TrueType" in content or b"/CIDFontType2" in content
    assert b"/Type3" not in content


@pytest.mark.parametrize(("k", "numbers"), [(2, 4), (18, 324), (30, 0)])
def test_cells_carry_numbers_as_long_as_they_fit(k, numbers, figure_of):
    axes = figure_of([str(i) for i in range(k)]).axes[0]
    assert len(axes.texts) == numbers
    cell = axes.get_window_extent().width / k
    assert all(text.get_window_extent().width <= cell for text in axes.texts)


@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("length", [1, 20, 100])
def test_all_names_are_readable_and_the_matrix_keeps_its_room(k, length, figure_of):
    names = [str(i).zfill(2)[-2:] * (length // 2 or 1) for i in range(k)]
    figure = figure_of(names, title="digits, homophily 0.2, easy, degree 18")
    axes = figure.axes[0]
    page, matrix = figure.bbox.padded(2), axes.get_window_extent()
    assert matrix.width > 0.3 * page.width
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.title]
    for box in (text.get_window_extent() for text in labels):
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
    for text, name in zip(axes.get_yticklabels(), names, strict=True):
        assert name.startswith(text.get_text().removesuffix("…"))


def test_a_dollar_in_a_name_is_no_formula(tmp_path):
    names = ["$\\frac{$", "below $5", "$x$"]
    assert save_compatibility(random_matrix(3), names, tmp_path / "m.png", title="$^$").exists()


def test_a_failed_drawing_leaves_the_old_file(tmp_path):
    class Broken:
        def savefig(self, path, **_):
            path.write_bytes(b"half")
            raise OSError("disk full")

    (tmp_path / "m.png").write_bytes(b"old")
    with pytest.raises(OSError, match="disk full"):
        save_figure(Broken(), tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["m.png"]
