"""What one worker writes and another reads, and what a step needs from a provider: as code, so that it cannot drift."""
