"""Jobs, records, and their parallel execution."""
