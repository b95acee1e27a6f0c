"""From the KPI rows of scored days to messages that people act on. Korean for readers.

What is decided about rates: `rates` says how improbable a count is, `episodes` goes through the days, `watch` says
which rates are looked at and how sure a page must be, `causes` pages once a cause, `decision` is what comes of it on a
day.

What a day has to say: `facts`, and in `growth` what made a rise; over days they become `incidents`, with those of
`kpi_incidents` and `few_rows`. `days_off` is the calendar, `snoozes` are what people do not want to hear of.

What people read: `day_messages` and `called_off` of a day, `weekly`, `run_messages` and `all_clear` of runs,
`judge_messages`, in the words of `wording` and `growth_wording`. `messages` says what a message is and which of them a
route gets, `blocks` what it is made of.

For reports and pages: `preview`, `standing_out`, `rule_changes`.
"""
