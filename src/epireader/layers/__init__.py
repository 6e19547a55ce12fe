"""The pieces readers are built from."""
