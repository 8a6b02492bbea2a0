"""Durable jobs: the database row is the outbox, Celery only carries its id."""
