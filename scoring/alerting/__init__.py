"""From facts to messages that people act on: incidents, who hears of them, and what they read. Korean for readers.

AlertFact (scoring/alerting/facts.py) -> incidents.py -> day.py, runs.py, troubles.py -> Message
                                                 routing.py says who hears it, block_kit.py how it looks
"""
