"""The benchmark: plan cells, run what is missing, keep one record per run, and read tables off the records."""
