"""Turns the KPI rows of scored days into messages that people act on. Texts for readers are Korean.

Decisions about rates: `rates` computes how improbable a count is, `episodes` tracks rises over days, `watch` selects
the watched rates and their significance levels, `causes` pages once per cause, `decision` is the result for a day.

Alerts of a day: `facts`, and `growth` with the values that caused a rise; over days they become `incidents`, with those
of `kpi_incidents` and `few_rows`, which has those of `vanished_tenants`. `rise_days` are the days that a lasting rise
is counted over. `days_off` is the calendar, `snoozes` are rules that people have silenced.

Messages: `day_messages`, `endings` and `withdrawn_pages` for a day, `weekly` for a week, `run_messages` and `all_clear`
for runs, `judge_messages` for the judge, with the texts of `wording` and `growth_wording`. `messages` defines a message
and routing, `blocks` its content, and `block_kit` what Slack reads of it.

For reports and pages: `preview`, `standing_out`, `rule_changes`.
"""
