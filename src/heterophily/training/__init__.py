"""Training: one loop for all methods, scoring, and the estimator."""
