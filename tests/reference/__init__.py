"""Slow twins: every equation of the paper's section 3 as it reads, on one question at a time.

Nothing here is padded, batched or vectorised. A number is a Python float, a vector a list of them, and a sum a loop.
"""
