"""The embedded database: Django's own backend, with a queue for its writers."""
