"""Starts an API server of either kind (``apiserver``)."""

from pathlib import Path

from .apiserver import ApiServer
from .embedded.launch import EmbeddedApiServer
from .real import RealApiServer

KINDS = {"real": RealApiServer, "embedded": EmbeddedApiServer}


def start_api_server(kind: str, work_dir: Path) -> ApiServer:
    """Start "real" or "embedded" and return when it is ready (within 60 s, usually within 10)."""
    if kind not in KINDS:
        raise ValueError(f'API server "{kind}": it must be "real" or "embedded"')
    return KINDS[kind](work_dir)
