"""The tests of significance against formulas written down anew and values from the literature."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from heterophily.benchmark.significance import (
    TEST_TO_TRAIN,
    Comparison,
    Ranking,
    against_best,
    corrected_t_test,
    critical_difference,
    holm,
    paired_differences,
    rank_over_datasets,
)
from heterophily.core.errors import HeterophilyError


def runs(*values, seed=0):
    return {(str(i), seed + i): value for i, value in enumerate(values)}


def one_run(**values):
    return {model: {("0", 0): value} for model, value in values.items()}


def test_the_t_test_by_hand():
    differences = [0.8, 1.4, -0.2, 1.0]
    # mean 0.75; squared deviations 0.0025, 0.4225, 0.9025, 0.0625 sum to 1.39
    t, p = corrected_t_test(differences, test_to_train=0.25)
    assert t == pytest.approx(0.75 / math.sqrt((0.25 + 0.25) * 1.39 / 3))
    # Student's distribution with three degrees of freedom has a closed form.
    a = t / math.sqrt(3)
    assert p == pytest.approx(1 - 2 / math.pi * (a / (1 + a * a) + math.atan(a)))


def test_without_overlap_it_is_the_plain_paired_test():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=10), rng.normal(size=10)
    plain = stats.ttest_rel(one, other)
    found = corrected_t_test(list(one - other), test_to_train=0)
    assert found == pytest.approx((plain.statistic, plain.pvalue))


def test_the_correction_is_less_sure_by_the_known_factor():
    differences = [1.0, 2.0, 0.5, 1.5, 0.1, 2.2, 1.1, 0.7, 1.9, 1.3]
    plain, _ = corrected_t_test(differences, test_to_train=0)
    t, _ = corrected_t_test(differences)
    assert pytest.approx(5 / 12) == TEST_TO_TRAIN
    assert plain / t == pytest.approx(math.sqrt((1 / 10 + 5 / 12) / (1 / 10)))


def test_a_difference_in_the_other_direction_changes_the_sign_only():
    t, p = corrected_t_test([1.0, 2.0, 4.0])
    assert corrected_t_test([-1.0, -2.0, -4.0]) == (-t, p)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.0, 0.0, 0.0], (0.0, 1.0)),
        ([2.0, 2.0], (math.inf, 0.0)),
        ([-0.1, -0.1, -0.1], (-math.inf, 0.0)),
        ([0.1 + 0.2, 0.3], (math.inf, 0.0)),
    ],
)
def test_differences_without_spread(differences, expected):
    assert corrected_t_test(differences) == expected


@pytest.mark.parametrize("differences", [[], [1.0]])
def test_a_single_split_tells_nothing(differences):
    with pytest.raises(HeterophilyError, match=f"at least two splits, got {len(differences)}"):
        corrected_t_test(differences)


def test_a_negative_ratio_is_refused():
    with pytest.raises(HeterophilyError, match=r"must not be negative, got -0\.1"):
        corrected_t_test([1.0, 2.0], test_to_train=-0.1)


def test_holm_by_hand():
    # sorted: 0.005 · 4, 0.01 · 3, 0.03 · 2, 0.04 · 1 → the last is raised to the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one_and_keeps_the_order():
    raw = [0.9, 0.4, 0.6, 1e-9]
    adjusted = holm(raw)
    assert adjusted == pytest.approx([1, 1, 1, 4e-9])
    ordered = [q for _, q in sorted(zip(raw, adjusted, strict=True))]
    assert all(a <= b for a, b in pairwise(ordered))
    assert holm([]) == []
    assert holm([0.2]) == [0.2]


def test_only_runs_with_the_same_split_and_seed_are_paired():
    one = {("0", 0): 5.0, ("1", 1): 6.0, ("2", 2): 9.0}
    other = {("0", 0): 4.0, ("1", 7): 1.0, ("2", 2): 6.0, ("3", 3): 0.0}
    assert paired_differences(one, other) == [1.0, 3.0]


def test_seeds_of_one_split_are_averaged():
    one = {("0", 0): 5.0, ("0", 1): 7.0, ("1", 0): 4.0}
    other = {("0", 0): 4.0, ("0", 1): 4.0, ("1", 0): 4.0}
    assert paired_differences(one, other) == [2.0, 0.0]


def test_the_best_is_compared_with_all_others():
    scores = {"a": runs(70.0, 71.0, 69.0, 72.0), "b": runs(80.0, 81.5, 79.0, 82.0), "c": runs(79.0, 82.0, 78.5, 82.5)}
    found = {c.other: c for c in against_best(scores, test_to_train=0.25)}
    assert list(found) == ["a", "c"]
    assert {c.best for c in found.values()} == {"b"}
    assert found["a"].difference == pytest.approx(10.125)
    assert found["a"].n_splits == 4
    t, p = corrected_t_test([10.0, 10.5, 10.0, 10.0], test_to_train=0.25)
    assert (found["a"].t, found["a"].p) == pytest.approx((t, p))
    assert found["a"].p_holm == pytest.approx(2 * p)
    assert found["c"].p_holm == found["c"].p
    assert found["a"].significant()
    assert not found["c"].significant()


def test_the_ratio_matters():
    scores = {"a": runs(1.0, 2.0, 3.5), "b": runs(0.5, 0.6, 1.0)}
    low, high = (against_best(scores, test_to_train=r)[0].p for r in (0.1, 1.0))
    assert low < high


def test_methods_that_share_fewer_than_two_splits_are_left_out():
    scores = {"a": runs(3.0, 4.0, 5.0), "b": runs(1.0, 2.5, 2.0), "c": runs(2.0), "d": {}}
    assert [c.other for c in against_best(scores)] == ["b"]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"a": runs(1.0, 2.0)}, "two methods with finished runs, got a; run more"),
        ({"a": {}}, "got none"),
        ({"a": runs(1.0, 2.0), "b": runs(0.5, 0.5, seed=5)}, "no method shares two splits with a"),
    ],
)
def test_too_little_to_compare_is_said(scores, words):
    with pytest.raises(HeterophilyError, match=words):
        against_best(scores)


def test_better_on_the_shared_runs_is_not_worse():
    lucky = Comparison("a", "b", n_splits=3, difference=-1.0, t=-9.0, p=0.001, p_holm=0.001)
    assert not lucky.significant()
    worse = Comparison("a", "b", n_splits=3, difference=1.0, t=9.0, p=0.05, p_holm=0.05)
    assert worse.significant()
    assert not worse.significant(0.01)


# Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 2006, table 5.
@pytest.mark.parametrize(
    ("alpha", "q"),
    [
        (0.05, {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 10: 3.164}),
        (0.10, {2: 1.645, 3: 2.052, 4: 2.291, 5: 2.459, 6: 2.589, 7: 2.693, 10: 2.920}),
    ],
)
def test_the_critical_difference_has_the_tabulated_q(alpha, q):
    for k, value in q.items():
        n = 14
        found = critical_difference(k, n, alpha=alpha) / math.sqrt(k * (k + 1) / (6 * n))
        assert found == pytest.approx(value, abs=1e-3)


def test_demsars_example():
    # Four methods on fourteen datasets: a critical difference of 1.25 at the level 0.05.
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_friedman_is_that_of_scipy_and_of_the_formula():
    rng = np.random.default_rng(1)
    table = rng.random((6, 4))
    scores = {str(d): one_run(**dict(zip("abcd", row, strict=True))) for d, row in enumerate(table)}
    found = rank_over_datasets(scores)
    expected = stats.friedmanchisquare(*table.T)
    assert (found.chi_square, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    n, k = table.shape
    ranks = np.array([[1 + sum(row > value) for value in row] for row in table]).mean(axis=0)
    assert found.ranks == pytest.approx(dict(zip("abcd", ranks, strict=True)))
    formula = 12 * n / (k * (k + 1)) * (sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert found.chi_square == pytest.approx(formula)
    assert list(found.ranks.values()) == sorted(ranks)
    assert found.critical_difference == critical_difference(4, 6)


def test_ties_share_their_ranks():
    found = rank_over_datasets({d: one_run(a=3.0, b=3.0, c=1.0) for d in "xyz"})
    assert found.ranks == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_methods_that_are_alike_everywhere_do_not_differ():
    found = rank_over_datasets({d: one_run(a=1.0, b=1.0, c=1.0) for d in "xy"})
    assert (found.chi_square, found.p) == (0.0, 1.0)


def test_datasets_that_lack_a_method_are_left_out():
    scores = {d: one_run(a=3.0, b=2.0, c=1.0) for d in "xy"}
    scores["z"] = {**one_run(a=1.0, b=2.0), "c": {}}
    scores["w"] = one_run(a=1.0, b=2.0)
    found = rank_over_datasets(scores)
    assert found.datasets == ("x", "y")
    assert found.ranks == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_ranks_come_from_the_runs_that_all_share():
    lucky = {("0", 0): 1.0, ("9", 9): 100.0}
    scores = {d: {**one_run(b=3.0, c=2.0), "a": lucky} for d in "xy"}
    assert rank_over_datasets(scores).ranks == {"b": 1.0, "c": 2.0, "a": 3.0}


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({d: one_run(a=1.0, b=2.0) for d in "xyz"}, "got 2 and 3"),
        ({"x": one_run(a=1.0, b=2.0, c=3.0)}, "got 3 and 1"),
        ({}, "got 0 and 0"),
        ({"x": {}}, "got 0 and 0"),
        ({d: {m: {(d + m, 0): 1.0} for m in "abc"} for d in "xy"}, "got 3 and 0"),
    ],
)
def test_too_few_methods_or_datasets_are_counted(scores, words):
    with pytest.raises(HeterophilyError, match=f"needs three methods and two datasets .* {words}"):
        rank_over_datasets(scores)


def ranking(width, **ranks):
    return Ranking(ranks, ("x", "y"), 1.0, 0.5, width, 0.05)


@pytest.mark.parametrize(
    ("width", "ranks", "cliques"),
    [
        (1.5, {"a": 1, "b": 2, "c": 3}, [("a", "b"), ("b", "c")]),
        (9.0, {"a": 1, "b": 2, "c": 3}, [("a", "b", "c")]),
        (0.5, {"a": 1, "b": 2, "c": 3}, []),
        (1.0, {"a": 1, "b": 2}, []),  # a difference of exactly CD is significant
        (1.2, {"a": 1, "b": 1.1, "c": 2, "d": 4, "e": 4.5}, [("a", "b", "c"), ("d", "e")]),
        (1.0, {"a": 1, "b": 1.5, "c": 1.9, "d": 2.2, "e": 5}, [("a", "b", "c"), ("b", "c", "d")]),
    ],
)
def test_cliques_are_the_largest_groups_within_the_critical_difference(width, ranks, cliques):
    assert ranking(width, **ranks).cliques == cliques


def test_every_pair_within_the_critical_difference_shares_a_clique():
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = sorted(rng.uniform(1, 8, size=8))
        found = ranking(2.0, **{f"m{i}": v for i, v in enumerate(values)})
        for one, low in found.ranks.items():
            for other, high in found.ranks.items():
                together = any({one, other} <= set(clique) for clique in found.cliques)
                assert one == other or together == (abs(high - low) < 2.0)
        assert not any(set(a) < set(b) for a in found.cliques for b in found.cliques)
