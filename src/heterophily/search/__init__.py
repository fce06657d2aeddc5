"""Search spaces beside the recipes."""
