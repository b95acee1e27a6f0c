-- Chat rows of OTLP JSON lines, as the format otel-genai reads them: calls of a model, but for those that ask for tools.
WITH spans AS (
    SELECT unnest(scope.spans) AS span
    FROM (SELECT unnest(resource.scopeSpans) AS scope FROM (
        SELECT unnest(resourceSpans) AS resource
        FROM read_json('{source}', format = 'newline_delimited', maximum_object_size = 67108864, columns = {
            resourceSpans: 'STRUCT(scopeSpans STRUCT(spans STRUCT(traceId VARCHAR, spanId VARCHAR,
                startTimeUnixNano VARCHAR, attributes STRUCT("key" VARCHAR,
                "value" STRUCT(stringValue VARCHAR, intValue VARCHAR))[])[])[])[]'
        })
    ))
), named AS (
    SELECT span, map_from_entries(list_transform(
        span.attributes, lambda a: struct_pack(k := a."key", v := coalesce(a."value".stringValue, a."value".intValue))
    )) AS attribute
    FROM spans
), calls AS (
    SELECT span, attribute,
        from_json(attribute['gen_ai.input.messages'],
            '[{"role":"VARCHAR","parts":[{"type":"VARCHAR","content":"VARCHAR"}]}]') AS asked,
        from_json(attribute['gen_ai.output.messages'],
            '[{"role":"VARCHAR","parts":[{"type":"VARCHAR","content":"VARCHAR"}]}]') AS answered
    FROM named
    WHERE attribute['gen_ai.operation.name'] IN ('chat', 'generate_content', 'text_completion')
)
SELECT
    make_timestamp_ns(span.startTimeUnixNano::BIGINT) AS timestamp,
    span.traceId || '/' || span.spanId AS source_id,
    attribute['gen_ai.conversation.id'] AS session_id,
    attribute['gen_ai.usage.input_tokens']::DOUBLE AS input_tokens,
    attribute['gen_ai.usage.output_tokens']::DOUBLE AS output_tokens,
    list_aggregate(list_transform(list_filter(
        list_filter(asked, lambda m: m.role = 'user')[-1].parts, lambda p: p.type = 'text'
    ), lambda p: p.content), 'string_agg', chr(10)) AS user_input,
    list_aggregate(list_transform(list_filter(
        list_filter(answered, lambda m: m.role = 'assistant')[1].parts, lambda p: p.type = 'text'
    ), lambda p: p.content), 'string_agg', chr(10)) AS llm_response
FROM calls
WHERE answered IS NULL
    OR NOT list_bool_or(list_transform(flatten(list_transform(answered, lambda m: m.parts)), lambda p: p.type = 'tool_call'))
