"""Training: optimisers, and what stands around a network while it learns."""
