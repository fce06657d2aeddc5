"""NodeClassifier: any method on any graph, with the scikit-learn API."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import Tags, check_random_state
from typing_extensions import override

from heterophily.core.arguments import MAX_SEED, check_integer
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Array, PathLike, Value
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.models import Model
from heterophily.training.alarms import Alarm, warn_about
from heterophily.training.auto.budget import DEFAULT_BUDGET
from heterophily.training.auto.calibration import Calibration
from heterophily.training.auto.leaderboard import Leaderboard
from heterophily.training.auto.task import TrainingOptions
from heterophily.training.class_weight import ClassWeight
from heterophily.training.decision import Decision, Threshold
from heterophily.training.explain import explain_node
from heterophily.training.explanation import ModelExplanation, NodeExplanation
from heterophily.training.fitting import AutoOptions, Fit, check_threshold, fit_candidates, fit_method, judge
from heterophily.training.importance import explain_model
from heterophily.training.inputs import GraphInput, read_input
from heterophily.training.objective import resolve_scoring
from heterophily.training.parameters import is_auto
from heterophily.training.persistence import load_classifier, save_classifier
from heterophily.training.predictions import Predictions
from heterophily.training.scoring import ScoringLike
from heterophily.training.splits import resolve_split, with_validation


class NodeClassifier(Predictions):
    """Classifier for the nodes of a graph, with any method of the library.

    It follows the scikit-learn API, except that `fit` takes a graph instead of a matrix X. The constructor
    only stores its arguments, and `fit` validates them. Settings of the method are parameters like all others.

    Parameters
    ----------
    model
        Name of a method, method, or path of a Python file that defines one; or `auto` for the best of several or
        an ensemble of them.
    preset
        `published`, or `reference` for the settings of the reference implementation.
    random_state
        Seed of the weights, of dropout, and of validation nodes that are held out: an integer, a `RandomState`,
        or None for a random seed.
    device
        Device of PyTorch, or `auto` for the GPU if there is one.
    class_weight
        Weights of the classes in the loss: None, `balanced` so that all classes count equally, or a dictionary
        of class names or numbers, as in scikit-learn.
    batch_size
        Number of training nodes per step. None trains on the full graph.
    neighbors
        Number of neighbors to sample per hop in a batch, or `all`.
    scoring
        Objective of early stopping, of `auto`, and of `score`: a name of scikit-learn such as `roc_auc`, a scorer,
        or a function (y_true, y_proba) -> float for which higher is better. None chooses it from the sizes of the
        classes.
    positive
        Name or number of the positive one of two classes; None for the rarer one.
    threshold
        Probability from which the positive one of two classes is predicted: a number, or `f1` or `youden` for the
        best one on the validation nodes. None predicts the most probable class.
    calibrate
        Whether to calibrate the probabilities on the validation nodes. `auto` always does.
    budget, ensemble, workers
        Only for `auto`: time limit such as `30s` or `5m`, whether the result can be an ensemble, and number of
        processes, None for one per core if the graph is large enough.
    verbose
        Whether to show a progress bar, or the leaderboard of `auto`, on a terminal.
    **settings
        Settings of the method, such as `width` and `dropout`.

    Attributes
    ----------
    classes_
        Classes as you wrote them, or class numbers if the graph has no names, (K,).
    n_features_in_, feature_names_in_, encoder_
        Number of features, and, if the graph was read from tables, their names and the encoder.
    predictor_
        Trained module. `predictor_(graph)` returns logits, (N, K).
    run_, split_, graph_
        Result of training, split, and graph.
    scoring_, threshold_
        The scoring, and the threshold or None.
    alarms_
        Reasons not to trust the model. `fit` also emits each as a warning.
    calibration_
        Expected calibration error before and after calibration.
    leaderboard_
        Candidates of `auto` with their validation scores; None for other models.

    Examples
    --------
    >>> from heterophily import NodeClassifier, load
    >>> model = NodeClassifier("mlp", max_epochs=50, width=64).fit(load("digits"), split="0")
    >>> model.predict().shape, model.predict_proba().shape
    ((1797,), (1797, 10))
    >>> model.score() > 0.9
    True
    >>> model.set_params(width=128)
    NodeClassifier(max_epochs=50, model='mlp', width=128)
    """

    def __init__(
        self,
        model: Model = "cmgnn",
        *,
        preset: str = "published",
        random_state: int | RandomState | None = 0,
        device: str = "auto",
        class_weight: ClassWeight = None,
        batch_size: int | None = None,
        neighbors: Neighbors = NEIGHBORS,
        scoring: ScoringLike | None = None,
        positive: str | int | None = None,
        threshold: Threshold = None,
        calibrate: bool = False,
        budget: str | float = DEFAULT_BUDGET,
        ensemble: bool = True,
        workers: int | None = None,
        verbose: bool = False,
        **settings: Value,
    ) -> None:
        self.model = model
        self.preset = preset
        self.random_state = random_state
        self.device = device
        self.class_weight = class_weight
        self.batch_size = batch_size
        self.neighbors = neighbors
        self.scoring = scoring
        self.positive = positive
        self.threshold = threshold
        self.calibrate = calibrate
        self.budget = budget
        self.ensemble = ensemble
        self.workers = workers
        self.verbose = verbose
        self.__dict__.update(settings)

    @override
    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        tags.no_validation = True
        return tags

    def fit(
        self,
        graph: GraphInput,
        y: ArrayLike | None = None,
        *,
        split: str | Split | None = None,
        checkpoint: Path | None = None,
    ) -> "NodeClassifier":
        """Train on a graph.

        Parameters
        ----------
        graph
            A `Graph`, a pair of tables (nodes, edges) of pandas, polars, or pyarrow, a `Data` of PyTorch Geometric,
            or a NetworkX graph whose nodes have the attribute `label`. If the nodes have no features, their degrees
            and positions in the graph are used.
        y
            Labels of all nodes, (N,), text or numbers, instead of the labels of the graph. None, NaN, and -1
            mean unknown.
        split
            Name of a split of the graph, or a split. None uses the only split of the graph, or else all
            labeled nodes. If there are no validation nodes, a quarter of the training nodes is held out.
        checkpoint
            File from which an interrupted run resumes.
        """
        data, classes = read_input(graph, y)
        seed = self._draw_seed()
        self.split_ = with_validation(data, resolve_split(data, split), seed=seed)
        self.scoring_ = resolve_scoring(self.scoring, data, self.split_, positive=self.positive)
        check_threshold(self.threshold, data)
        self.set_fit(self._train(data, seed, checkpoint))
        self.graph_, self.classes_ = data, classes
        self.set_features(data.n_nodes, data.n_features, data.feature_names, encoder=data.encoder)
        warn_about(self.alarms_)
        return self

    def set_fit(self, fit: Fit) -> None:
        """Set the results of training."""
        self.predictor_, self.run_ = fit.predictor, fit.run
        self.decision_: Decision = fit.decision
        self.alarms_: tuple[Alarm, ...] = fit.alarms
        self.calibration_: Calibration | None = fit.calibration
        self.leaderboard_: Leaderboard | None = fit.leaderboard

    def set_features(
        self, n_nodes: int, n_features: int, names: Sequence[str] | None, *, encoder: FeatureEncoder | None
    ) -> None:
        """Set what scikit-learn expects of an estimator that has seen features, and the encoder of tables."""
        self.n_nodes_in_, self.n_features_in_, self.encoder_ = n_nodes, n_features, encoder
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_: Array = np.array(names, dtype=object)

    def _train(self, graph: Graph, seed: int, checkpoint: Path | None) -> Fit:
        options = TrainingOptions(seed, self.device, self.scoring_, self.class_weight, self.batch_size, self.neighbors)
        if is_auto(self.model):
            auto = AutoOptions(self.budget, self.ensemble, self.workers, self.settings)
            fit = fit_candidates(graph, self.split_, options, auto, checkpoint=checkpoint, progress=self.verbose)
        else:
            fit = fit_method(
                self.method,
                graph,
                self.split_,
                options,
                checkpoint=checkpoint,
                progress=self.verbose,
                calibrate=self.calibrate,
            )
        return judge(fit, graph, self.split_, options, threshold=self.threshold)

    def _draw_seed(self) -> int:
        if isinstance(self.random_state, RandomState | None):
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        check_integer("random_state", self.random_state, low=0, high=MAX_SEED)
        return int(self.random_state)

    def save(self, folder: PathLike) -> Path:
        """Write weights (safetensors) and everything else (JSON) into a folder, without pickle."""
        self._fitted()
        return save_classifier(self, folder)

    def explain(
        self, node: str | int, graph: GraphInput | None = None, *, target: str | int | None = None, max_items: int = 100
    ) -> NodeExplanation:
        """Explain the prediction of one node: its neighbors, its columns, and the weights of messages.

        An effect is the difference of the log-odds of a class between the prediction and a prediction without an
        edge, or with the values of other nodes in a column. Labels are not used.

        Parameters
        ----------
        node
            Id of the node, or its number if the nodes have no ids.
        graph
            Graph of the node; by default, that of `fit`.
        target
            Class to explain; by default, the predicted one.
        max_items
            Number of neighbors, and of columns, up to which each one is measured. Of more, groups are measured, and
            those with the largest effects are divided.
        """
        data = self._graph(graph)
        return explain_node(self, data, node, target=target, max_items=max_items, seed=self.run_.seed)

    def explain_model(
        self, graph: GraphInput | None = None, *, n_repeats: int = 5, max_items: int = 100
    ) -> ModelExplanation:
        """Measure on which columns the predictions depend, and whether they depend on the edges.

        The importance of a column is the decrease of the score if its values are shuffled among the nodes. The test
        nodes are scored, the validation nodes if there are none, and all labeled nodes of a graph other than that of
        `fit`.

        Parameters
        ----------
        graph
            Graph with labels; by default, that of `fit`.
        n_repeats
            Number of random orders, from which the standard error follows.
        max_items
            Number of columns up to which each one is measured, as in `explain`.
        """
        data = self._graph(graph)
        return explain_model(self, data, n_repeats=n_repeats, max_items=max_items, seed=self.run_.seed)

    @classmethod
    def load(cls, folder: PathLike, *, graph: GraphInput | None = None, model: Model | None = None) -> "NodeClassifier":
        """Read a classifier that `save` wrote.

        Parameters
        ----------
        folder
            Folder with the classifier.
        graph
            Graph on which it was fitted. Required for calls without a graph, and by methods with one weight
            per pair of nodes.
        model
            Method, if it is not part of the library. A folder contains no code.
        """
        return load_classifier(cls, folder, graph=graph, model=model)
