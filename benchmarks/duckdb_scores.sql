-- The rules of seed 002 and the columns of SPEC 1.3 as an analyst would write them for DuckDB: the seed's own
-- expressions in DuckDB's dialect, words as `contains` or one alternation, common parts computed once. Dates are Seoul's.
CREATE TEMP VIEW scored AS
WITH metrics AS (
    SELECT
        CAST(timezone('Asia/Seoul', timestamp) AS DATE) AS score_date,
        timestamp,
        tenant_id,
        request_metadata.session_id AS session_id,
        user_input,
        llm_response,
        input_tokens,
        output_tokens,
        length(user_input) AS question_length,
        length(llm_response) AS answer_length,
        output_tokens / nullif(input_tokens, 0) AS token_ratio,
        length(llm_response) / nullif(length(user_input), 0) AS length_ratio,
        len(string_split(llm_response, chr(10))) AS answer_lines,
        regexp_matches(user_input, '[0-9]{6}') AS question_has_stock_code,
        regexp_matches(llm_response, '\|.*\|.*\|') AS answer_has_table,
        regexp_matches(llm_response, '[0-9]{1,3}(,[0-9]{3})+') AS answer_has_number,
        regexp_matches(llm_response, '[0-9]{4}[-/][0-9]{2}') AS answer_has_date,
        regexp_matches(llm_response, '\*\*.*\*\*') AS answer_has_bold,
        regexp_matches(llm_response, '^(>?[\t\n\f\r ]*)?죄송') AS answer_has_apology,
        contains(user_input, '종합적으로 분석') OR contains(user_input, '상세히 분석') OR contains(user_input, '비교 분석')
            AS asks_analysis,
        contains(user_input, 'vs') OR contains(user_input, '대비') OR contains(user_input, '비교')
            OR contains(user_input, '차이') OR contains(user_input, '유사') OR contains(user_input, '비슷') AS asks_comparison,
        regexp_matches(user_input, '알려|설명|보여|비교|분석|조회') AS asks_something,
        contains(llm_response, '죄송') AS apologises
    FROM read_parquet('{source}')
    WHERE user_input IS NOT NULL AND llm_response IS NOT NULL
),
components AS (
    SELECT
        *,
        CASE
            WHEN asks_analysis THEN 'analysis'
            WHEN contains(user_input, '주가 동향') THEN 'price'
            WHEN contains(user_input, '재무 지표') OR contains(user_input, '실적 분석') THEN 'financials'
            WHEN contains(user_input, '목표주가') THEN 'target_price'
            WHEN contains(user_input, '배당 현황') THEN 'dividend'
            WHEN contains(user_input, '뉴스 동향') THEN 'news'
            WHEN asks_comparison THEN 'comparison'
            WHEN asks_something THEN 'general'
            WHEN question_has_stock_code THEN 'stock_code'
            WHEN question_length <= 10 THEN 'name_only'
            ELSE 'other'
        END AS question_category,
        CASE WHEN question_has_stock_code THEN 15 ELSE 0 END
            + CASE WHEN regexp_matches(user_input, '[가-힣]{2,8}(주|전자|화학|건설|증권|반도체|에너지|바이오)') THEN 10 ELSE 0 END
            + CASE WHEN regexp_matches(user_input, 'PER|PBR|ROE|EPS|BPS|배당수익률|영업이익률|시가총액') THEN 5 ELSE 0 END
            AS q_specificity,
        CASE
            WHEN asks_analysis THEN 25
            WHEN regexp_matches(user_input, '주가 동향|재무 지표|목표주가|배당 현황|뉴스 동향|실적 분석') THEN 20
            WHEN asks_something THEN 15
            WHEN contains(user_input, '?') OR contains(user_input, '？') THEN 10
            WHEN question_length <= 10 THEN 5
            ELSE 8
        END AS q_intent,
        CASE
            WHEN regexp_matches(user_input, '최근 [0-9]+(개월|일|년)|20[0-9]{2}년|[0-9]+분기') THEN 8
            WHEN regexp_matches(user_input, '최근|올해|이번|작년|전월') THEN 4
            ELSE 0
        END
            + CASE WHEN asks_comparison THEN 7 ELSE 0 END
            + CASE
                WHEN (contains(user_input, '주가') AND contains(user_input, '뉴스'))
                    OR (contains(user_input, '재무') AND contains(user_input, '전망')) THEN 5
                ELSE 0
            END AS q_context,
        CASE
            WHEN question_length <= 3 THEN 2
            WHEN question_length <= 7 THEN 5
            WHEN question_length <= 14 THEN 10
            WHEN question_length <= 40 THEN 15
            WHEN question_length <= 80 THEN 12
            ELSE 8
        END AS q_length,
        CASE
            WHEN len(regexp_extract_all(user_input, '[가-힣]'))
                / nullif(question_length, 0) >= 0.5 THEN 5
            ELSE 2
        END
            + CASE WHEN NOT regexp_matches(user_input, '[ㄱ-ㅎㅏ-ㅣ]{2,}') THEN 3 ELSE 0 END
            + CASE WHEN NOT regexp_matches(user_input, '시발|ㅅㅂ|ㅂㅅ|병신|개새|미친') THEN 2 ELSE 0 END AS q_formality,
        CASE
            WHEN output_tokens >= 1200 THEN 25
            WHEN output_tokens >= 800 THEN 22
            WHEN output_tokens >= 400 THEN 18
            WHEN output_tokens >= 200 THEN 14
            WHEN output_tokens >= 101 THEN 10
            WHEN output_tokens >= 61 THEN 5
            WHEN output_tokens >= 31 THEN 2
            ELSE 0
        END AS a_volume,
        CASE WHEN answer_has_table THEN 8 ELSE 0 END
            + CASE WHEN answer_has_bold THEN 5 ELSE 0 END
            + CASE WHEN regexp_matches(llm_response, '^[-•*]|\n[-•*]') THEN 4 ELSE 0 END
            + CASE WHEN answer_lines >= 11 THEN 5 WHEN answer_lines >= 6 THEN 3 ELSE 0 END
            + CASE WHEN regexp_matches(llm_response, '---|\n#{1,3}[\t\n\f\r ]') THEN 3 ELSE 0 END AS a_structure,
        CASE WHEN answer_has_number THEN 8 ELSE 0 END
            + CASE WHEN regexp_matches(llm_response, '[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}') THEN 5 ELSE 0 END
            + CASE
                WHEN contains(llm_response, 'KOSPI') OR contains(llm_response, 'KOSDAQ')
                    OR contains(llm_response, '코스피') OR contains(llm_response, '코스닥') THEN 4
                ELSE 0
            END
            + CASE WHEN contains(llm_response, '원') OR contains(llm_response, '%') THEN 4 ELSE 0 END
            + CASE WHEN regexp_matches(llm_response, '[0-9]{6}') THEN 4 ELSE 0 END AS a_data,
        CASE
            WHEN token_ratio >= 0.20 THEN 15
            WHEN token_ratio >= 0.15 THEN 12
            WHEN token_ratio >= 0.10 THEN 8
            WHEN token_ratio >= 0.05 THEN 4
            ELSE 0
        END AS a_efficiency,
        CASE
            WHEN apologises AND regexp_matches(llm_response, '^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 (법률|금융)') THEN 0
            WHEN contains(llm_response, '질문의 범위가 너무 넓어') THEN 0
            WHEN contains(llm_response, '입력하신 내용을 정확히 이해하지 못했습니다') THEN 0
            WHEN apologises AND output_tokens < 100 THEN 2
            WHEN output_tokens >= 200 AND contains(llm_response, '제공되지 않') THEN 7
            WHEN apologises AND output_tokens >= 200 THEN 8
            ELSE 10
        END AS a_non_refusal
    FROM metrics
),
totals AS (
    SELECT
        *,
        q_specificity + q_intent + q_context + q_length + q_formality AS q_score,
        a_volume + a_structure + a_data + a_efficiency + a_non_refusal AS a_score
    FROM components
),
graded AS (
    SELECT
        *,
        CASE
            WHEN q_score >= 80 THEN 'S' WHEN q_score >= 60 THEN 'A' WHEN q_score >= 40 THEN 'B'
            WHEN q_score >= 20 THEN 'C' ELSE 'D'
        END AS q_tier,
        CASE
            WHEN a_score >= 85 THEN 'A' WHEN a_score >= 65 THEN 'B' WHEN a_score >= 40 THEN 'C'
            WHEN a_score >= 20 THEN 'D' ELSE 'F'
        END AS a_grade,
        CASE
            WHEN length_ratio >= 80 THEN 30 WHEN length_ratio >= 40 THEN 22 WHEN length_ratio >= 15 THEN 15
            WHEN length_ratio >= 5 THEN 8 ELSE 0
        END AS i_ratio,
        CASE WHEN contains(user_input, '주가') AND answer_has_number THEN 10 ELSE 0 END
            + CASE
                WHEN contains(user_input, '뉴스')
                    AND (contains(llm_response, '뉴스') OR contains(llm_response, '기사')
                        OR contains(llm_response, '보도') OR contains(llm_response, '발표')) THEN 10
                ELSE 0
            END
            + CASE
                WHEN (contains(user_input, '재무') OR contains(user_input, '실적'))
                    AND (contains(llm_response, '매출') OR contains(llm_response, '영업이익')
                        OR contains(llm_response, '순이익')) THEN 10
                ELSE 0
            END AS i_information
    FROM totals
),
matched AS (
    SELECT
        *,
        CASE
            WHEN q_tier IN ('S', 'A') AND a_grade IN ('A', 'B') THEN 40
            WHEN q_tier IN ('S', 'A') AND a_grade = 'C' THEN 25
            WHEN q_tier IN ('S', 'A') AND a_grade IN ('D', 'F') THEN 5
            WHEN q_tier IN ('B', 'C') AND a_grade IN ('A', 'B') THEN 35
            WHEN q_tier IN ('B', 'C') AND a_grade = 'C' THEN 25
            WHEN q_tier IN ('B', 'C') AND a_grade IN ('D', 'F') THEN 10
            WHEN q_tier = 'D' AND a_grade IN ('A', 'B') THEN 30
            WHEN q_tier = 'D' THEN 15
            ELSE 20
        END AS i_match
    FROM graded
),
summed AS (
    SELECT
        *,
        i_match + i_ratio + i_information AS i_score,
        (25 * q_score + 50 * a_score + 25 * (i_match + i_ratio + i_information) + 5) // 10 / 10 AS final_score
    FROM matched
),
outcome AS (
    SELECT
        *,
        CASE
            WHEN final_score >= 80 THEN 'STAR' WHEN final_score >= 60 THEN 'A' WHEN final_score >= 40 THEN 'B'
            WHEN final_score >= 20 THEN 'C' ELSE 'F'
        END AS final_grade,
        CASE
            WHEN apologises AND regexp_matches(llm_response, '^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 법률') THEN 'refused_advice'
            WHEN apologises AND regexp_matches(llm_response, '^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 금융') THEN 'refused_domain'
            WHEN apologises AND regexp_matches(llm_response, '^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 주식') THEN 'refused_scope'
            WHEN contains(llm_response, '질문의 범위가 너무 넓어') THEN 'too_broad'
            WHEN contains(llm_response, '입력하신 내용을 정확히 이해하지 못했습니다') THEN 'not_understood'
            WHEN output_tokens = 0 THEN 'blocked'
            WHEN answer_length <= 50 THEN 'too_short'
        END AS failure_type
    FROM summed
),
alerts AS (
    SELECT
        *,
        list_filter(
            [
                CASE WHEN a_score < 20 THEN 'answer_failed' END,
                CASE WHEN q_tier IN ('S', 'A') AND a_grade IN ('D', 'F') THEN 'good_question_bad_answer' END,
                CASE WHEN output_tokens = 0 THEN 'llm_blocked' END,
                CASE WHEN final_grade = 'F' THEN 'final_failed' END,
                CASE WHEN a_score < 40 AND q_score >= 40 THEN 'weak_answer' END,
                CASE WHEN output_tokens BETWEEN 1 AND 100 THEN 'very_short_answer' END
            ],
            lambda rule: rule IS NOT NULL
        ) AS alert_rules,
        CASE
            WHEN a_score < 20 OR (q_tier IN ('S', 'A') AND a_grade IN ('D', 'F')) OR output_tokens = 0
                OR final_grade = 'F' THEN 'critical'
            WHEN (a_score < 40 AND q_score >= 40) OR output_tokens BETWEEN 1 AND 100 THEN 'warning'
        END AS alert_level,
        greatest(25 - a_volume, 25 - a_structure, 25 - a_data, 15 - a_efficiency, 10 - a_non_refusal) AS most_lost
    FROM outcome
)
SELECT
    score_date,
    substr(sha256(
        CAST(epoch_us(timestamp) AS VARCHAR)
        || '|' || coalesce(CAST(length(tenant_id) AS VARCHAR) || ':' || tenant_id, '-')
        || '|' || coalesce(CAST(length(session_id) AS VARCHAR) || ':' || session_id, '-')
        || '|' || CAST(question_length AS VARCHAR) || ':' || user_input
        || '|' || CAST(answer_length AS VARCHAR)
    ), 1, 32) AS row_key,
    timestamp,
    tenant_id,
    session_id,
    CASE WHEN alert_level IS NOT NULL OR final_grade IN ('C', 'F') THEN user_input END AS user_input,
    CASE WHEN alert_level IS NOT NULL OR final_grade IN ('C', 'F') THEN llm_response END AS llm_response,
    input_tokens,
    output_tokens,
    question_length,
    answer_length,
    token_ratio,
    length_ratio,
    answer_lines,
    question_has_stock_code,
    answer_has_table,
    answer_has_number,
    answer_has_date,
    answer_has_bold,
    answer_has_apology,
    question_category,
    q_specificity, q_intent, q_context, q_length, q_formality, q_score, q_tier,
    a_volume, a_structure, a_data, a_efficiency, a_non_refusal, a_score, a_grade,
    i_match, i_ratio, i_information, i_score,
    final_score,
    final_grade,
    failure_type,
    alert_level,
    alert_rules,
    CASE WHEN final_grade = 'C' THEN CASE
        WHEN 25 - a_volume = most_lost THEN 'a_volume'
        WHEN 25 - a_structure = most_lost THEN 'a_structure'
        WHEN 25 - a_data = most_lost THEN 'a_data'
        WHEN 15 - a_efficiency = most_lost THEN 'a_efficiency'
        ELSE 'a_non_refusal'
    END END AS cause,
    'ola-monitoring' AS rubric,
    '1' AS rubric_version,
    regexp_matches(
        llm_response,
        '제공되지 않|데이터(에|가)? 없|'
        || '(데이터|자료|정보)(가|는|에|에는)?( 내| 내에)? (없(습|어|으|는)|존재하지 않|포함되(어 있)?지 않|확인되지 않)'
    ) AS answer_says_no_data,
    CAST(NULL AS VARCHAR) AS source_id,
    llm_response AS whole_answer
FROM alerts;
