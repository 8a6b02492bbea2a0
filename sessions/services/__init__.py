"""Everything that writes sessions, one module per noun."""
