"""Pages about sessions and what people decide about them; they read, and let the services write."""
