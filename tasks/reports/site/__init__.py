"""The report site: static HTML that opens from disk, drawn from the tables of a warehouse. `build.py` puts it together."""
