"""Teaching a reader."""
