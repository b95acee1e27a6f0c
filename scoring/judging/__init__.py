"""What the judge is asked and what it answers: requests, verdicts, prompts, masking."""
