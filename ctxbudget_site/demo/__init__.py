"""A week in the life of a project, played through the real services, so that pages have something to show."""
