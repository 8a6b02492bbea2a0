"""An optional process in the call path: agents change base_url and are budgeted."""
