"""Every address of the site. `/healthz` is missing: naiply.asgi answers it without Django."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

from naiply.health import readyz

urlpatterns = [
    path("readyz", readyz, name="readyz"),
    *i18n_patterns(
        path("admin/", admin.site.urls),
        path("", include("leaderboards.urls")),
        prefix_default_language=False,
    ),
]
