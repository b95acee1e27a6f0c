"""BigQuery: the source of chat rows, and what everything that talks to it shares.

names      `bigquery://...` addresses: a table or view, a dataset
settings   `[bigquery]`
client     the one place that makes clients and runs jobs, with retries
refusals   what BigQuery says no to -> one line for people
columns    the columns of a view -> the columns of chat rows, in SQL
rows       the rows of a view, a period at a time, as Arrow batches
pushdown   a day scored inside BigQuery
"""
