"""Pure scoring: tables and values in, tables and values out. No files, network, clock or environment."""
