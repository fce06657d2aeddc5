"""Training: one loop for all methods, metrics, and the estimator."""
