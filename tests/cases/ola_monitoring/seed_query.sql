-- The requirement's own query, written out by hand: the rules of `ola-monitoring` in its own words and regexes.
-- Section 8 stands here without its LIMIT, its ORDER BY and its Final_Score (which takes 50 for the I-Score);
-- `interaction` adds sections 1.2, 6.2 and 10.1, and the end adds 7.1.
WITH scored AS (
  SELECT
    timestamp,
    user_input,
    llm_response,
    input_tokens,
    output_tokens,
    request_metadata.session_id,

    (CASE WHEN REGEXP_CONTAINS(user_input, r'\d{6}') THEN 15 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(user_input, r'[가-힣]{2,8}(주|전자|화학|건설|증권|반도체|에너지|바이오)') THEN 10 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(user_input, r'(PER|PBR|ROE|EPS|BPS|배당수익률|영업이익률|시가총액)') THEN 5 ELSE 0 END
    ) as q_specificity,

    (CASE
      WHEN REGEXP_CONTAINS(user_input, r'(종합적으로 분석|상세히 분석|비교 분석)') THEN 25
      WHEN REGEXP_CONTAINS(user_input, r'(주가 동향|재무 지표|목표주가|배당 현황|뉴스 동향|실적 분석)') THEN 20
      WHEN REGEXP_CONTAINS(user_input, r'(알려|설명|보여|비교|분석|조회)') THEN 15
      WHEN REGEXP_CONTAINS(user_input, r'[?？]') THEN 10
      WHEN LENGTH(user_input) <= 10 THEN 5
      ELSE 8 END
    ) as q_intent,

    (CASE WHEN REGEXP_CONTAINS(user_input, r'(최근 \d+(개월|일|년)|20\d{2}년|\d+분기)') THEN 8
          WHEN REGEXP_CONTAINS(user_input, r'(최근|올해|이번|작년|전월)') THEN 4 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(user_input, r'(vs|대비|비교|차이|유사|비슷)') THEN 7 ELSE 0 END
     + CASE WHEN (REGEXP_CONTAINS(user_input, r'주가') AND REGEXP_CONTAINS(user_input, r'뉴스'))
             OR (REGEXP_CONTAINS(user_input, r'재무') AND REGEXP_CONTAINS(user_input, r'전망')) THEN 5 ELSE 0 END
    ) as q_context,

    (CASE
      WHEN LENGTH(user_input) BETWEEN 15 AND 40 THEN 15
      WHEN LENGTH(user_input) BETWEEN 8 AND 14 THEN 10
      WHEN LENGTH(user_input) BETWEEN 41 AND 80 THEN 12
      WHEN LENGTH(user_input) BETWEEN 4 AND 7 THEN 5
      WHEN LENGTH(user_input) <= 3 THEN 2
      ELSE 8 END
    ) as q_length,

    (CASE WHEN SAFE_DIVIDE(ARRAY_LENGTH(REGEXP_EXTRACT_ALL(user_input, r'[가-힣]')), LENGTH(user_input)) >= 0.5
          THEN 5 ELSE 2 END
     + CASE WHEN NOT REGEXP_CONTAINS(user_input, r'[ㄱ-ㅎㅏ-ㅣ]{2,}') THEN 3 ELSE 0 END
     + CASE WHEN NOT REGEXP_CONTAINS(user_input, r'(시발|ㅅㅂ|ㅂㅅ|병신|개새|미친)') THEN 2 ELSE 0 END
    ) as q_formality,

    (CASE
      WHEN output_tokens >= 1200 THEN 25
      WHEN output_tokens >= 800  THEN 22
      WHEN output_tokens >= 400  THEN 18
      WHEN output_tokens >= 200  THEN 14
      WHEN output_tokens >= 101  THEN 10
      WHEN output_tokens >= 61   THEN 5
      WHEN output_tokens >= 31   THEN 2
      ELSE 0 END
    ) as a_volume,

    (CASE WHEN REGEXP_CONTAINS(llm_response, r'\|.*\|.*\|') THEN 8 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'\*\*.*\*\*') THEN 5 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'(^|\n)[-•*]') THEN 4 ELSE 0 END
     + CASE WHEN ARRAY_LENGTH(REGEXP_EXTRACT_ALL(llm_response, r'\n')) >= 10 THEN 5
            WHEN ARRAY_LENGTH(REGEXP_EXTRACT_ALL(llm_response, r'\n')) >= 5 THEN 3 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'(---|\n#{1,3}\s)') THEN 3 ELSE 0 END
    ) as a_structure,

    (CASE WHEN REGEXP_CONTAINS(llm_response, r'\d{1,3}(,\d{3})+') THEN 8 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'\d{4}[-/]\d{2}[-/]\d{2}') THEN 5 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'(KOSPI|KOSDAQ|코스피|코스닥)') THEN 4 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'(원|%)') THEN 4 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(llm_response, r'\d{6}') THEN 4 ELSE 0 END
    ) as a_data,

    (CASE
      WHEN input_tokens = 0 THEN 0
      WHEN SAFE_DIVIDE(output_tokens, input_tokens) >= 0.20 THEN 15
      WHEN SAFE_DIVIDE(output_tokens, input_tokens) >= 0.15 THEN 12
      WHEN SAFE_DIVIDE(output_tokens, input_tokens) >= 0.10 THEN 8
      WHEN SAFE_DIVIDE(output_tokens, input_tokens) >= 0.05 THEN 4
      ELSE 0 END
    ) as a_efficiency,

    (CASE
      WHEN REGEXP_CONTAINS(llm_response, r'^(>?\s*)?죄송합니다\. 저는 (법률|금융)') THEN 0
      WHEN REGEXP_CONTAINS(llm_response, r'질문의 범위가 너무 넓어') THEN 0
      WHEN REGEXP_CONTAINS(llm_response, r'입력하신 내용을 정확히 이해하지 못했습니다') THEN 0
      WHEN REGEXP_CONTAINS(llm_response, r'죄송') AND output_tokens < 100 THEN 2
      WHEN REGEXP_CONTAINS(llm_response, r'제공되지 않') AND output_tokens >= 200 THEN 7
      WHEN REGEXP_CONTAINS(llm_response, r'죄송') AND output_tokens >= 200 THEN 8
      ELSE 10 END
    ) as a_non_refusal

  FROM `finola-global.ola_monitoring.view_ola_monitoring`
  WHERE timestamp >= TIMESTAMP("2026-01-27")
    AND user_input IS NOT NULL
    AND llm_response IS NOT NULL
),
final AS (
  SELECT *,
    (q_specificity + q_intent + q_context + q_length + q_formality) as Q_Score,
    (a_volume + a_structure + a_data + a_efficiency + a_non_refusal) as A_Score,

    CASE
      WHEN (q_specificity + q_intent + q_context + q_length + q_formality) >= 80 THEN 'S'
      WHEN (q_specificity + q_intent + q_context + q_length + q_formality) >= 60 THEN 'A'
      WHEN (q_specificity + q_intent + q_context + q_length + q_formality) >= 40 THEN 'B'
      WHEN (q_specificity + q_intent + q_context + q_length + q_formality) >= 20 THEN 'C'
      ELSE 'D'
    END as Q_Tier,

    CASE
      WHEN (a_volume + a_structure + a_data + a_efficiency + a_non_refusal) >= 85 THEN 'A'
      WHEN (a_volume + a_structure + a_data + a_efficiency + a_non_refusal) >= 65 THEN 'B'
      WHEN (a_volume + a_structure + a_data + a_efficiency + a_non_refusal) >= 40 THEN 'C'
      WHEN (a_volume + a_structure + a_data + a_efficiency + a_non_refusal) >= 20 THEN 'D'
      ELSE 'F'
    END as A_Grade

  FROM scored
),
interaction AS (
  SELECT *,
    LENGTH(user_input) as question_length,
    LENGTH(llm_response) as answer_length,
    ARRAY_LENGTH(SPLIT(llm_response, '\n')) as answer_lines,
    REGEXP_CONTAINS(user_input, r'\d{6}') as question_has_stock_code,
    REGEXP_CONTAINS(llm_response, r'\|.*\|.*\|') as answer_has_table,
    REGEXP_CONTAINS(llm_response, r'\d{1,3}(,\d{3})+') as answer_has_number,
    REGEXP_CONTAINS(llm_response, r'\d{4}[-/]\d{2}') as answer_has_date,
    REGEXP_CONTAINS(llm_response, r'\*\*.*\*\*') as answer_has_bold,
    REGEXP_CONTAINS(llm_response, r'^(>?\s*)?죄송') as answer_has_apology,

    (CASE
      WHEN Q_Tier IN ('S','A') AND A_Grade IN ('A','B') THEN 40
      WHEN Q_Tier IN ('S','A') AND A_Grade = 'C'        THEN 25
      WHEN Q_Tier IN ('S','A') AND A_Grade IN ('D','F') THEN 5
      WHEN Q_Tier IN ('B','C') AND A_Grade IN ('A','B') THEN 35
      WHEN Q_Tier IN ('B','C') AND A_Grade = 'C'        THEN 25
      WHEN Q_Tier IN ('B','C') AND A_Grade IN ('D','F') THEN 10
      WHEN Q_Tier = 'D' AND A_Grade IN ('A','B')        THEN 30
      WHEN Q_Tier = 'D'                                  THEN 15
      ELSE 20
    END) as i_match,

    (CASE
      WHEN SAFE_DIVIDE(LENGTH(llm_response), LENGTH(user_input)) >= 80 THEN 30
      WHEN SAFE_DIVIDE(LENGTH(llm_response), LENGTH(user_input)) >= 40 THEN 22
      WHEN SAFE_DIVIDE(LENGTH(llm_response), LENGTH(user_input)) >= 15 THEN 15
      WHEN SAFE_DIVIDE(LENGTH(llm_response), LENGTH(user_input)) >= 5  THEN 8
      ELSE 0
    END) as i_ratio,

    (CASE WHEN REGEXP_CONTAINS(user_input, r'주가') AND REGEXP_CONTAINS(llm_response, r'\d{1,3}(,\d{3})+원?')
          THEN 10 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(user_input, r'뉴스') AND REGEXP_CONTAINS(llm_response, r'(뉴스|기사|보도|발표)')
            THEN 10 ELSE 0 END
     + CASE WHEN REGEXP_CONTAINS(user_input, r'(재무|실적)') AND REGEXP_CONTAINS(llm_response, r'(매출|영업이익|순이익)')
            THEN 10 ELSE 0 END) as i_information,

    (A_Score < 20) as answer_failed,
    (Q_Tier IN ('S','A') AND A_Grade IN ('D','F')) as good_question_bad_answer,
    (A_Score < 40 AND Q_Score >= 40) as weak_answer,
    IFNULL(output_tokens = 0, FALSE) as llm_blocked,
    IFNULL(output_tokens BETWEEN 1 AND 100, FALSE) as very_short_answer
  FROM final
)
SELECT
  *,
  i_match + i_ratio + i_information as I_Score,
  ROUND((Q_Score * 0.25) + (A_Score * 0.50) + ((i_match + i_ratio + i_information) * 0.25), 1) as Final_Score
FROM interaction
