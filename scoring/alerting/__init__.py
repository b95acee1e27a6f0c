"""From facts to messages that people act on: incidents, who gets them, and what they read. Korean for readers.

facts -> incidents -> day_messages, review_messages, failure_messages -> messages
messages says which of them a route gets, blocks how a terminal shows them
"""
