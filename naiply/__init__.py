"""Wiring: settings, addresses, servers, the embedded database. No rule of the ratings is here."""

from naiply.celery import app as celery_app

__all__ = ["celery_app"]
