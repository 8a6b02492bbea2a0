#!/bin/sh
# Refuses settings that are wrong, then becomes the web server. Address: GRANIAN_HOST, GRANIAN_PORT.
set -e
python manage.py check
# Processes × 16 threads must stay below Postgres' max_connections: every thread keeps a connection.
exec granian --interface wsgi --workers "${WEB_WORKERS:-2}" --blocking-threads 16 --no-ws \
    --respawn-failed-workers --log-level error ctxbudget_site.wsgi:application
