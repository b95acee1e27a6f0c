"""One outside system a module: files, BigQuery, the judge, Slack, the state database."""
