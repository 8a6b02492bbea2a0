"""Opening, closing and recording a model call."""
