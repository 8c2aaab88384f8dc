"""The Celery application: background jobs and the weekly schedule, configured by the settings."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "naiply.settings")

app = Celery("naiply")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
