"""Shapes and types of the whole package are checked while the tests run (where beartype is installed)."""

import importlib.util

from jaxtyping import install_import_hook

if importlib.util.find_spec("beartype"):
    install_import_hook("epireader", "beartype.beartype")
