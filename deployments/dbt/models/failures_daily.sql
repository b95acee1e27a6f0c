-- How many turns of a day failed in which way, and their share of the scored ones.
WITH counted AS (
    SELECT
        score_date, {{ service() }} AS service, tenant_id, rubric, rubric_version, failure_type, COUNT(*) AS turns
    FROM {{ source('aqb', 'monitoring_scores') }}
    GROUP BY 1, 2, 3, 4, 5, 6
),

shared AS (
    SELECT
        *,
        SUM(turns) OVER (PARTITION BY score_date, service, tenant_id, rubric, rubric_version) AS scored_rows
    FROM counted
)

SELECT
    score_date, service, tenant_id, failure_type, turns AS failures, scored_rows, turns / scored_rows AS share,
    rubric, rubric_version
FROM shared
WHERE failure_type IS NOT NULL
