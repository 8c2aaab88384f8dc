from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from leaderboards.shell import read_shell


def shell(request: HttpRequest) -> dict[str, Any]:
    """The shell for pages whose view read none, such as the error pages; fragments cost nothing."""
    return {"shell": SimpleLazyObject(read_shell)}
