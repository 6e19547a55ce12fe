"""What readers say, and how good it is."""
