"""The report site: static HTML that opens from disk, from the tables of a warehouse. `build.py` writes it."""
