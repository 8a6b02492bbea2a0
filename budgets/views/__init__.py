"""Pages about what is allowed: profiles, caps and models; they read, and let the services write."""
