"""What the fidelity page tells beside the deviations of a method: how a default was found, and measured."""

STORIES = {
    "cmgnn": """### The leak, and its cure

As published, Ĉ holds the true label of every training node, and B_sup = norm1(Ĉ M̂) weighs the
prototypes with it. So a training node's supplementary message is made from the very answer that the
loss asks for. If the prototypes are what the paper says, mean features of a class, the network learns
to read the answer there, and finds nothing to read at other nodes. The published program escapes by an
error: it takes positions in the list of training nodes for node numbers, so its prototypes are means of
arbitrary nodes, nearly equal, and tell nothing.

Here M̂ is still estimated with the true labels, but what a node hears comes from what the network
predicts for it, training node or not: `supplementary_labels = predicted`. A test makes sure that the
soft label with which a training node weighs the prototypes does not depend on its own label. `masked`
shows true labels except where the loss asks in that step; `true` is as published. Validation accuracy
in percent on the first split of blogcatalog, one layer of width 128, otherwise the settings of the
published program:

| what a training node hears | prototypes | validation |
|---|---|---|
| its true label, as published | class means | 95.9 |
| its true label except where the loss asks | class means | 97.1 |
| what the network predicts (the default) | class means | 97.4 |
| what the network predicts | positions, as in the program | 97.2 |

### Which side of each switch

Validation accuracy in percent, everything else equal, the other switches as in the published program
but for the leak, the settings of the published program otherwise. On actor the mean of five splits, on
chameleon-f of one (the first); the spread between splits is several times these differences, so only
large ones mean something:

| switch | sides | actor | chameleon-f |
|---|---|---|---|
| loss | ce_of_probabilities / nll | 38.61 / 38.59 | 53.17 / 52.82 |
| pseudo_labels | training / evaluation | 38.61 / 38.82 | 53.17 / 53.17 |
| degree_weight | overwritten / three_branches | 38.61 / 38.69 | 53.17 / 52.82 |
| structure_dropout | double / single | no structure input | 53.17 / 53.17 |
| prototype_index | positions / nodes | 38.59 / 38.61 | not measured |
| supplementary_labels | masked / predicted | 38.51 / 38.61 | 52.82 / 53.17 |

The first four quirks together against none of them: 44.3 against 40.9 on squirrel-f (two splits), 48.9
against 47.9 on chameleon-f (four), 38.6 against 38.5 on actor (five), 94.9 against 97.0 on blogcatalog
and 91.9 against 92.6 on flickr (one each). So they are set in the tables of squirrel-f and chameleon-f
and nowhere else, and `loss` and `structure_dropout` are in the search space.

Over the first eight splits of chameleon-f the four quirks give 47.6 with our cure, 47.5 if the loss is the
usual one, and 48.3 with the program's own escape from the leak (true labels, prototypes from positions). That
is within the noise of 285 validation nodes, so the cure stays.
""",
}
