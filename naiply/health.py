"""Whether this process can do its work, for the machine that sends it readers."""

import logging

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, 503 when it does not; no word about why leaves the house."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        logger.warning("Not ready: %s", error)
        return HttpResponse("database does not answer\n", status=503, content_type="text/plain")
    return HttpResponse("ready\n", content_type="text/plain")
