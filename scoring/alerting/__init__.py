"""From facts to messages that people act on: incidents, who gets them, and what they read. Korean for readers.

facts -> incidents -> day_messages; and run_messages
messages says what a message is and which of them a route gets, blocks how a terminal shows it
"""
