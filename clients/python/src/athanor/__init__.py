"""A client of Athanor, GPU operations as a service.

import athanor

with athanor.connect("http://127.0.0.1:8080") as a:
    w = a.upload(weights)
    y = a.matmul(x, w, activation="relu")
    print(y.numpy())
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version as _version
from pkgutil import extend_path as _extend_path
from typing import Any

from ._async import AsyncAthanor
from ._client import Athanor
from ._core import Step, View
from ._errors import AthanorError
from ._generation import AsyncTokenStream, Generation, TokenStream
from ._http import Settings
from ._models import AsyncModel, Model
from ._sessions import AsyncSession, Session
from ._tensor import AsyncTensor, Tensor

__all__ = [
    "AsyncAthanor",
    "AsyncModel",
    "AsyncSession",
    "AsyncTensor",
    "AsyncTokenStream",
    "Athanor",
    "AthanorError",
    "Generation",
    "Model",
    "Session",
    "Step",
    "Tensor",
    "TokenStream",
    "View",
    "connect",
    "connect_async",
]
__version__ = _version("athanor")
__path__ = _extend_path(__path__, __name__)  # finds stubs that users generate from athanor/v1/*.proto


def connect(
    url: str,
    *,
    api_key: str | Callable[[], str] | None = None,
    timeout: float | None = 300.0,
    retries: int = 4,
    lease: int = 600,
    replicas: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> Athanor:
    """Returns a client of the service at a URL; nothing is sent yet. Close it, or use it in a `with` block.

    Args:
        url: the service, such as `http://127.0.0.1:8080`.
        api_key: an API key or a signed token, or a function that returns the current one.
        timeout: seconds after which a call fails unless it has a timeout of its own, retries included; None
            for no limit. The service is told, and stores no result that comes too late.
        retries: how often a call is repeated: after 429 and 503 as `Retry-After` says, and after a lost
            connection if the call may be repeated.
        lease: seconds that a tensor outlives its last use or renewal. The client renews the leases of open
            tensors well before; those of a client that died end by themselves.
        replicas: the URLs of replicas, by the names that `wrong-replica` problems give in `replica`. A call for
            a tensor of another replica is sent there, once.
        headers: further headers of every request, such as `X-Priority`: 1 (first) to 5, where 1 and 2 need the
            scope `priority`.
        options: further options of `httpx.Client`, such as `verify` (an `ssl.SSLContext` with your certificate
            authority and client certificate), `proxy` or `limits`.

    Raises:
        ValueError: if the URL or the lease makes no sense.
    """
    return Athanor(Settings(url, api_key, timeout, retries, lease, replicas, headers), options)


def connect_async(
    url: str,
    *,
    api_key: str | Callable[[], str] | None = None,
    timeout: float | None = 300.0,
    retries: int = 4,
    lease: int = 600,
    replicas: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncAthanor:
    """Returns an asynchronous client of the service at a URL; `connect` explains the options."""
    return AsyncAthanor(Settings(url, api_key, timeout, retries, lease, replicas, headers), options)
