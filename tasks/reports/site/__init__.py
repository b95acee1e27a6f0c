"""The report site: static HTML that opens from disk, made of the tables of a warehouse. `build.py` writes it."""
