"""Shapes and types of the whole package are checked while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("epireader", "beartype.beartype")
