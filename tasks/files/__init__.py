"""Files: atomic writes, discovery, CSV, Excel."""
