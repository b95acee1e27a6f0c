"""From facts to messages that people act on: incidents, who hears of them, and what they read. Korean for readers.

facts -> incidents -> day_messages, review_messages, failure_messages -> messages
routing says who hears a message, block_kit how it looks
"""
