"""What a graph is like: homophily, compatibility and the diagnosis."""
