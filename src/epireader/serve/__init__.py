"""The reader over HTTP, and the page. Needs the extra `serve`: `pip install "epireader[serve]"`."""
