"""Pages of the read side: what needs attention now, and what the past says."""
