"""The benchmark: plan cells, run what is missing, keep one record per run, read tables off the records."""
