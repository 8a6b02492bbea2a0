"""Pages about who: keys, members, audit log, settings and one's own account."""
