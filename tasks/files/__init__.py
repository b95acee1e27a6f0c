"""Files: atomic writes, discovery, CSV and what Excel makes of it."""
