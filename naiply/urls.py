"""Every address of the site. `/healthz` is missing: naiply.asgi answers it without Django."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path, re_path

from leaderboards.views import crawlers
from leaderboards.views.download import download
from leaderboards.views.sheet import board_csv
from leaderboards.views.theme import theme
from naiply.health import readyz

handler400 = "leaderboards.views.errors.bad_request"
handler500 = "leaderboards.views.errors.server_error"

urlpatterns = [
    path("readyz", readyz, name="readyz"),
    path("robots.txt", crawlers.robots, name="robots"),
    path("sitemap.xml", crawlers.sitemap, name="sitemap"),
    re_path(
        r"^sitemap-(?P<file>pages|players-[0-9]{1,5})\.xml$",
        crawlers.sitemap_file,
        name="sitemap-file",
    ),
    path("downloads/<slug:slug>.jsonl.gz", download, name="download"),
    path("leaderboards/<slug:slug>.csv", board_csv, name="board-csv"),
    path("theme", theme, name="theme"),
    path(".well-known/security.txt", crawlers.security, name="security"),
    *i18n_patterns(
        path("admin/", admin.site.urls),
        path("", include("leaderboards.urls")),
        prefix_default_language=False,
    ),
]
