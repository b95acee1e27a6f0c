-- Generated from the code by `make docs`; for a rubric of your own see docs/how-to/dbt.md.
SELECT score_date, {{ service() }} AS service, tenant_id, 'answer_excellent_rate' AS kpi, answer_excellent_rate AS value,
    answer_excellent_rate_target AS target, answer_excellent_rate_low AS low, answer_excellent_rate_high AS high, answer_excellent_rate_verdict AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'failure_rate' AS kpi, failure_rate AS value,
    failure_rate_target AS target, failure_rate_low AS low, failure_rate_high AS high, failure_rate_verdict AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'gold_mine_rate' AS kpi, gold_mine_rate AS value,
    gold_mine_rate_target AS target, gold_mine_rate_low AS low, gold_mine_rate_high AS high, gold_mine_rate_verdict AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'mean_final_score' AS kpi, mean_final_score AS value,
    mean_final_score_target AS target, mean_final_score_low AS low, mean_final_score_high AS high, mean_final_score_verdict AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'mean_q_score' AS kpi, mean_q_score AS value,
    CAST(NULL AS {{ dbt.type_float() }}) AS target, CAST(NULL AS {{ dbt.type_float() }}) AS low, CAST(NULL AS {{ dbt.type_float() }}) AS high, CAST(NULL AS {{ dbt.type_string() }}) AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'mean_a_score' AS kpi, mean_a_score AS value,
    CAST(NULL AS {{ dbt.type_float() }}) AS target, CAST(NULL AS {{ dbt.type_float() }}) AS low, CAST(NULL AS {{ dbt.type_float() }}) AS high, CAST(NULL AS {{ dbt.type_string() }}) AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'mean_i_score' AS kpi, mean_i_score AS value,
    CAST(NULL AS {{ dbt.type_float() }}) AS target, CAST(NULL AS {{ dbt.type_float() }}) AS low, CAST(NULL AS {{ dbt.type_float() }}) AS high, CAST(NULL AS {{ dbt.type_string() }}) AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
UNION ALL
SELECT score_date, {{ service() }} AS service, tenant_id, 'answer_says_no_data_rate' AS kpi, answer_says_no_data_rate AS value,
    CAST(NULL AS {{ dbt.type_float() }}) AS target, CAST(NULL AS {{ dbt.type_float() }}) AS low, CAST(NULL AS {{ dbt.type_float() }}) AS high, CAST(NULL AS {{ dbt.type_string() }}) AS verdict,
    {{ adapter.quote('rows') }} AS scored_rows, rubric, rubric_version
FROM {{ source('aqb', 'monitoring_kpis') }}
