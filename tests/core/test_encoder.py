"""The encoder: types of columns, their encodings, invariance to storage, and JSON."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError

N = 400


def messy_table(n=N, seed=0):
    """Columns as people have them: gaps, heavy tails, dates, codes, notes, and identifiers."""
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(50)]
    days = pd.to_datetime("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(),
            "amount": rng.lognormal(3, 2, n).round(2),
            "city": rng.choice([f"city {i}" for i in range(60)], n),
            "constant": "x",
            "country": rng.choice(["de", "us", "fr"], n, p=[0.6, 0.3, 0.1]),
            "customer": [f"c-{i:04}" for i in range(n)],
            "joined": days.astype("datetime64[us]"),
            "note": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "postcode": [f"0{code}" for code in rng.integers(1000, 1020, n)],
            "seen": rng.integers(1_600_000_000, 1_700_000_000, n),
            "vip": rng.random(n) < 0.3,
        }
    )
    table.loc[::7, "age"] = np.nan
    table.loc[::9, "country"] = None
    table.loc[::11, "joined"] = pd.NaT
    return table


TYPES = {
    "age": "numeric",
    "amount": "numeric",
    "city": "category",
    "constant": "constant",
    "country": "category",
    "customer": "id",
    "joined": "date",
    "note": "text",
    "postcode": "category",
    "seen": "numeric",
    "vip": "boolean",
}


def as_text_table(frame):
    """Write all cells as text, as a CSV file has them, with decimal commas and empty cells."""
    columns = {
        "age": [None if np.isnan(v) else f"{v:.1f}".replace(".", ",") for v in frame["age"]],
        "amount": [f"{v:.2f}".replace(".", ",") for v in frame["amount"]],
        "joined": [None if pd.isna(v) else f"{v:%d.%m.%Y}" for v in frame["joined"]],
        "seen": [str(v) for v in frame["seen"]],
        "vip": ["yes" if v else "no" for v in frame["vip"]],
    }
    others = {c: [None if pd.isna(v) else str(v) for v in frame[c]] for c in frame.columns if c not in columns}
    return pa.table(columns | others)


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def encode(table, **options):
    return dense(FeatureEncoder(**options).fit_transform(table))


def column(values, **options):
    """Encode a single column."""
    return encode({"x": values}, **options)


def test_types_are_inferred():
    report = FeatureEncoder().fit(messy_table()).report()
    assert {row["name"]: row["type"] for row in report} == TYPES


def test_the_report_lists_treatment_and_missing_values():
    rows = {row["name"]: row for row in FeatureEncoder().fit(messy_table()).report()}
    assert rows["amount"]["treatment"] == "quantile transform"
    assert rows["age"]["treatment"] == "robust scaling, median and indicator for missing values"
    assert rows["age"]["missing"] == pytest.approx(58 / N)
    assert rows["city"]["treatment"] == "one-hot of the 32 most frequent, and frequency"
    assert rows["joined"]["treatment"] == "elapsed time, month, weekday, indicator for missing values"
    assert rows["customer"]["treatment"].startswith("dropped: almost every value is different")
    assert (rows["customer"]["n_features"], rows["city"]["n_features"]) == (0, 33)


def test_every_feature_has_a_name_and_a_source_column():
    encoder = FeatureEncoder().fit(messy_table())
    features = encoder.transform(messy_table())
    assert features.shape == (N, len(encoder.feature_names))
    assert len(encoder.source_columns) == len(encoder.feature_names) == len(set(encoder.feature_names))
    pairs = zip(encoder.feature_names, encoder.source_columns, strict=True)
    assert all(name.startswith(source) for name, source in pairs)
    assert encoder.get_feature_names_out().tolist() == list(encoder.feature_names)


CONVERSIONS = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas, "text": as_text_table}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_the_storage_of_a_table_does_not_matter(convert):
    frame = messy_table()
    assert np.array_equal(encode(convert(frame)), encode(frame))


def test_the_order_of_columns_and_rows_does_not_matter():
    frame = messy_table()
    shuffled = frame.sample(frac=1, random_state=1)
    expected = encode(frame)
    assert np.array_equal(encode(frame[frame.columns[::-1]]), expected)
    assert np.array_equal(encode(shuffled), expected[shuffled.index])


@pytest.mark.parametrize(("factor", "shift"), [(1000, 0), (1 / 0.45359237, 0), (1.8, 32), (1e-6, 7)])
def test_the_unit_of_a_number_does_not_matter(factor, shift):
    frame = messy_table()[["age", "amount", "seen"]]
    assert np.abs(encode(frame * factor + shift) - encode(frame)).max() <= 1e-6


def test_the_names_of_categories_do_not_matter():
    frame = messy_table()[["country"]]
    renamed = frame.replace({"de": "Germany", "us": "America", "fr": "Zaire"})
    assert np.array_equal(encode(renamed), encode(frame))


def test_the_words_of_a_boolean_do_not_matter():
    values = [True, False, None, True]
    expected = [[1, 0], [0, 0], [0.5, 1], [1, 0]]
    for true, false in ((1, 0), ("yes", "no"), ("T", "F"), ("True", "false"), (1.0, 0.0), ("1", "0")):
        given = [None if v is None else true if v else false for v in values]
        assert column(given).tolist() == column(values).tolist() == expected


def test_numbers_are_scaled_by_median_and_quartiles():
    x = np.random.default_rng(0).normal(50, 8, 1000)
    low, middle, high = np.quantile(x, (0.25, 0.5, 0.75))
    assert column(x)[:, 0] == pytest.approx((x - middle) / (high - low) * 1.349, abs=1e-5)


def test_heavy_tails_become_normal():
    x = np.exp(3 * np.random.default_rng(0).normal(size=2000))
    z = column(x)[:, 0]
    ranks = (x.argsort().argsort() + 0.5) / len(x)
    assert np.abs(z - norm.ppf(ranks)).mean() < 0.02
    assert np.abs(z).max() < 3.1


def test_an_outlier_does_not_dominate():
    x = np.append(np.random.default_rng(0).normal(size=999), 1e12)
    z = column(x)[:, 0]
    assert np.abs(z).max() <= 10
    assert z[:-1].std() > 0.5


def test_missing_numbers_are_the_median_with_an_indicator():
    z = column([1, 2, None, 3, float("inf"), np.nan])
    assert z[:, 1].tolist() == [0, 0, 1, 0, 1, 1]
    assert z[[2, 4, 5], 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,5", "2,25", "-3"], [1.5, 2.25, -3]),
        (["1,500", "2,250,000", "3"], [1500, 2_250_000, 3]),
        (["1.500,5", "2.250,25", "3"], [1500.5, 2250.25, 3]),
        (["$1,500.5", "+2", "3 %"], [1500.5, 2, 3]),
        (["1e3", ".5", "5."], [1000, 0.5, 5]),
        (["1 500", "n/a", "?"], [1500, None, None]),
        (["7", "none", "8"], [7, None, 8]),
    ],
)
def test_numbers_are_read_from_text(texts, numbers):
    assert column(texts, numeric=["x"]).tolist() == column(numbers, numeric=["x"]).tolist()


def test_the_meaning_of_a_comma_is_remembered():
    encoder = FeatureEncoder().fit({"x": ["1,5", "2,25", "3,0"]})
    assert encoder.transform({"x": ["2,250"]}).tolist() == encoder.transform({"x": [2.25]}).tolist()


def test_codes_with_leading_zeros_are_categories():
    assert FeatureEncoder().fit({"zip": ["01", "02", "10"]}).columns_[0].type == "category"


def test_a_few_unreadable_cells_are_missing():
    values = [str(i % 37) for i in range(99)]
    assert column([*values, "about 5"])[-1].tolist() == [0, 1]


def test_dates_are_elapsed_time_and_calendar_parts():
    dates = pd.date_range("2022-01-03", periods=28, freq="36h")  # a Monday
    encoder = FeatureEncoder().fit({"d": dates.to_pydatetime()})
    names = {name: i for i, name in enumerate(encoder.feature_names)}
    z = encoder.transform({"d": dates.to_pydatetime()})
    assert (np.diff(z[:, names["d: elapsed"]]) > 0).all()
    assert z[0, [names["d: weekday sin"], names["d: weekday cos"]]].tolist() == [0, 1]
    assert z[1, [names["d: time of day sin"], names["d: time of day cos"]]] == pytest.approx([0, -1])
    angle = 2 * np.pi * (dates.month - 1) / 12
    assert z[:, names["d: month sin"]] == pytest.approx(np.sin(angle), abs=1e-6)


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%SZ", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d %H:%M"],
)
def test_dates_are_read_from_text(form):
    dates = pd.date_range("2022-01-30", periods=50, freq="5D")
    assert np.array_equal(column(dates.strftime(form).to_list()), column(dates.to_pydatetime()))


def test_zero_dates_and_gaps_are_missing():
    z = column(["2022-01-01", "0000-00-00", "2022-02-01", None])
    assert z[:, -1].tolist() == [0, 1, 0, 1]


def test_rare_categories_share_their_frequency():
    levels = [f"level {i:03}" for i in range(100) for _ in range(100 - i)]
    encoder = FeatureEncoder().fit({"x": levels})
    z = encoder.transform({"x": ["level 000", "level 031", "level 032", "level 099", "unseen"]})
    assert z[:, :32].sum(axis=1).tolist() == [1, 1, 0, 0, 0]
    counts = np.array([100, 69, 68, 1, 0])
    assert z[:, 32] == pytest.approx(np.log1p(counts) / np.log1p(100), abs=1e-6)


def test_text_is_tf_idf_of_words_and_sparse():
    notes = [f"common note number {i} about topic{i % 5}" for i in range(200)]
    features = FeatureEncoder().fit_transform({"note": notes, "x": np.arange(200) / 7})
    assert sp.issparse(features)
    assert features.dtype == np.float32
    words = features[:, :-1].toarray()
    assert np.linalg.norm(words, axis=1) == pytest.approx(np.ones(200))
    assert (words[0] > 0).sum() <= 6
    assert words[0].min() >= 0


def test_integers_that_count_rows_are_identifiers():
    rng = np.random.default_rng(0)
    money, numbers = (rng.choice(10**6, 50, replace=False) for _ in range(2))
    columns = {"n": rng.permutation(50) + 1, "user_id": numbers, "money": money}
    assert [row["type"] for row in FeatureEncoder().fit(columns).report()] == ["numeric", "id", "id"]


def test_options_override_the_type():
    table = {"code": [1, 2, 3, 2], "note": ["a", "b", "c", "d"], "row_id": list("wxyz")}
    encoder = FeatureEncoder(categorical=["code"], ignore=["note"]).fit(table)
    assert encoder.feature_names[:3] == ("code=2", "code=1", "code=3")
    assert [row["type"] for row in encoder.report()] == ["category", "ignored", "category"]
    assert FeatureEncoder(numeric=["x"]).fit({"x": ["0", "1", "1"]}).columns_[0].type == "numeric"


def test_unseen_categories_are_zeros_and_gaps_are_allowed():
    encoder = FeatureEncoder().fit({"pet": ["dog", "cat", "dog"], "age": [1.0, 2.5, 3.0]})
    assert encoder.transform({"pet": ["bird", None], "age": [None, 2.5]}).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_missing_columns_are_listed_in_one_sentence():
    encoder = FeatureEncoder().fit(messy_table())
    with pytest.raises(HeterophilyError, match="requires columns 'age', 'country', but the table has only 'amount'"):
        encoder.transform(messy_table().drop(columns=["age", "country", "constant", "customer"]))


def test_dropped_columns_are_not_required():
    frame = messy_table()
    encoder = FeatureEncoder().fit(frame)
    fewer = frame.drop(columns=["constant", "customer"])
    assert np.array_equal(dense(encoder.transform(fewer)), dense(encoder.transform(frame)))


def test_a_column_of_another_type_is_refused():
    encoder = FeatureEncoder().fit({"age": [1.5, 2.5, 4]})
    with pytest.raises(HeterophilyError, match="'age' must contain numeric values, got 'old' in row 2"):
        encoder.transform({"age": ["1", "old", "young"]})
    with pytest.raises(HeterophilyError, match="'pet' must contain numeric values, got 'dog' in row 1"):
        FeatureEncoder(numeric=["pet"]).fit({"pet": ["dog", "cat"]})
    with pytest.raises(HeterophilyError, match="an option names column 'agee', but the table has only 'age'"):
        FeatureEncoder(ignore=["agee"]).fit({"age": [1, 2]})
    with pytest.raises(HeterophilyError, match="expected a pandas, polars, or pyarrow table, got list"):
        FeatureEncoder().fit([1, 2])


def test_json_keeps_everything():
    frame = messy_table()
    encoder = FeatureEncoder().fit(frame)
    copy = FeatureEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert copy == encoder
    assert copy.report() == encoder.report()
    other = messy_table(seed=1)
    assert np.array_equal(dense(copy.transform(other)), dense(encoder.transform(other)))
    assert copy != FeatureEncoder().fit(other)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "x", "expected an encoder of format"),
        (("columns",), 3, "expected an encoder of format"),
        (("columns", 0, "type"), "magic", "invalid column 'age'"),
        (("columns", 0, "encoding"), None, "not the encoding of this type"),
        (("columns", 0, "encoding", "type"), "magic", "unknown type of encoding 'magic'"),
        (("columns", 0, "encoding", "center"), "x", "numeric.center must be"),
        (("columns", 0, "encoding", "center"), float("nan"), "numeric.center must be"),
        (("columns", 0, "encoding", "color"), 1, "unknown field 'color' of a numeric encoding"),
        (("columns", 2, "encoding", "levels"), [1], "category.levels must be"),
    ],
)
def test_wrong_json_is_refused(path, value, words):
    content = json.loads(json.dumps(FeatureEncoder().fit(messy_table()).to_dict()))
    part = content
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(HeterophilyError, match=words):
        FeatureEncoder.from_dict(content)


def test_the_encoder_is_a_scikit_learn_transformer():
    encoder = FeatureEncoder(ignore=["note"])
    assert clone(encoder).get_params() == {"ignore": ["note"], "categorical": (), "numeric": ()}
    with pytest.raises(NotFittedError, match="call fit"):
        encoder.transform({"x": [1]})


def test_columns_of_mixed_types_are_text():
    frame = pd.DataFrame({"x": [1, "b", None, 2.5]}, dtype=object)
    assert FeatureEncoder().fit(frame).feature_names == ("x=1", "x=2.5", "x=b", "x: missing")


@pytest.mark.real
def test_the_raw_table_of_tolokers():
    from heterophily.core.tables import read_table
    from heterophily.data.store import data_folder

    path = data_folder() / "tolokers" / "toloka_nodes_raw.tsv"
    if not path.exists():
        pytest.skip("the raw columns of tolokers are not available")
    report = FeatureEncoder(ignore=["id", "banned"]).fit(read_table(path)).report()
    types = {row["name"]: row["type"] for row in report}
    assert types["education"] == "category"
    assert types["english_profile"] == types["english_tested"] == "boolean"
    assert all(types[f"{name}_rate"] == "numeric" for name in ("approved", "skipped", "expired", "rejected"))
    assert not any(row["missing"] for row in report)


@pytest.mark.parametrize(
    ("learned", "read", "expected"),
    [
        ([1.5, 2.5], ["1,5", "2,5"], [1.5, 2.5]),
        (["1.5", "2.5"], ["1,5", "2,5"], [1.5, 2.5]),
        (["1,5", "2,5"], ["1,250", "3,125"], [1.25, 3.125]),
        (["1,5", "2,5"], ["1,250,000", "3,125"], [1_250_000, 3125]),
        (["1,500", "2,500"], ["1,250", "3,125"], [1250, 3125]),
        (["1,500", "2,500"], ["1,25", "3,125"], [1.25, 3.125]),
    ],
)
def test_commas_are_read_as_the_new_table_has_them(learned, read, expected):
    encoding = FeatureEncoder().fit({"x": learned}).columns_[0].encoding
    assert encoding.read(pa.chunked_array([read])).tolist() == expected
