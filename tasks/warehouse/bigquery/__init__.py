"""A warehouse in BigQuery: client, tables, errors."""
