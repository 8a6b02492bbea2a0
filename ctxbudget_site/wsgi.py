"""WSGI entry point of the web process; vocabularies are loaded before it forks."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ctxbudget_site.settings")

application = get_wsgi_application()

from budgets.tokens import load_vocabularies  # noqa: E402

load_vocabularies()
