"""HTMP, heterophilous message passing: neighborhoods, guidance, COMBINE and FUSE as parts of a row."""
