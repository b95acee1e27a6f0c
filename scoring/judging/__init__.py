"""Judging: requests and verdicts, prompts, masking, anchors and the audit. No client."""
