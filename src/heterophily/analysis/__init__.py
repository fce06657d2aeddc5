"""Properties of a graph: data problems, homophily, compatibility, and a recommendation."""
