"""Cloze questions: from files to examples, to columns, to batches of tensors."""
