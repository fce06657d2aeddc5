"""The studies of the paper, each one function and one command: tidy data first, figures from it second."""
