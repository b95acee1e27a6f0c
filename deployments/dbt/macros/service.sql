{#- The service of a row; NULL where no service has a name, for then there is no such column. -#}
{% macro service() %}{{ "service" if var("aqb_services", false) else "CAST(NULL AS " ~ dbt.type_string() ~ ")" }}{% endmacro %}
