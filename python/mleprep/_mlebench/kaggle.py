"""A client of Kaggle for callers that expect Kaggle's own client but do not have it.

The client has the methods that harnesses call before they prepare competitions. The program sends the requests.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any

from mleprep._mlebench import program
from mleprep._mlebench.download import download

# The competition of a request that shows whether Kaggle accepts the credentials. Any competition works.
_PROBE = "spaceship-titanic"


class ApiException(Exception):
    """An error returned by Kaggle, with the fields of the exception in Kaggle's own client."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        self.status = int(status)
        self.reason = status.phrase
        self.body = json.dumps({"code": self.status, "message": message})
        super().__init__(f"({self.status})\nReason: {self.reason}\nHTTP response body: {self.body}\n")


class KaggleApi:
    """The methods of Kaggle's own client that harnesses call."""

    def authenticate(self) -> None:
        """Raises an error if Kaggle does not accept the credentials."""
        found = program.permission(_PROBE)
        if found["state"] not in ("accepted", "not_accepted"):
            raise PermissionError(found.get("error") or "Kaggle does not answer")

    def get_config_value(self, name: str) -> str | None:
        """Returns the user's name, or `access-token` if the credentials are a token, which has no user name."""
        if name != "username":
            return None
        named = os.environ.get("KAGGLE_USERNAME")
        for directory in () if named else _config_dirs():
            try:
                named = json.loads((directory / "kaggle.json").read_text(encoding="utf-8")).get("username")
                break
            except (OSError, ValueError, AttributeError):
                continue
        return named or "access-token"

    def competition_download_files(
        self, competition: str, path: Path | str | None = None, force: bool = False, quiet: bool = True
    ) -> None:
        """Downloads a bundle into a directory."""
        _require_accepted(competition)
        download(competition, Path(path or "."), quiet, force)

    def competition_download_file(
        self, competition: str, file_name: str, path: Path | str | None = None, force: bool = False, quiet: bool = False
    ) -> None:
        """Raises `ApiException` if the rules are not accepted. Single files are not downloaded."""
        _require_accepted(competition)
        raise NotImplementedError(f"`{file_name}` is not downloaded alone; `prep fetch {competition}` gets the bundle")


def _require_accepted(competition: str) -> None:
    found = program.permission(competition)
    if found["state"] == "not_accepted":
        raise ApiException(
            HTTPStatus.FORBIDDEN,
            f"You must accept this competition's rules before you'll be able to download files: {found['url']}",
        )
    if found["state"] != "accepted":
        error = found.get("error") or "too many requests"
        limited = found["state"] == "not_asked" or "429" in error
        raise ApiException(HTTPStatus.TOO_MANY_REQUESTS if limited else HTTPStatus.NOT_FOUND, error)


def _config_dirs() -> list[Path]:
    named = os.environ.get("KAGGLE_CONFIG_DIR")
    if named:
        return [Path(named)]
    config = os.environ.get("XDG_CONFIG_HOME")
    return [Path.home() / ".kaggle", (Path(config) if config else Path.home() / ".config") / "kaggle"]


def authenticated() -> Any:
    """Returns a signed-in client: Kaggle's own if it is installed, otherwise this one.

    Without Kaggle's client, callers can still import `kaggle.rest.ApiException` to catch the exception.
    """
    try:
        from kaggle.api.kaggle_api_extended import KaggleApi as Client
    except ImportError:
        client: Any = KaggleApi()
        client.authenticate()
    else:
        client = Client()
        client.authenticate()
        client.competitions_list()
    _provide_exception()
    return client


def _provide_exception() -> None:
    try:
        importlib.import_module("kaggle.rest")
    except ImportError:
        rest = ModuleType("kaggle.rest")
        rest.ApiException = ApiException  # type: ignore[attr-defined]
        package = sys.modules.setdefault("kaggle", ModuleType("kaggle"))
        package.rest = rest  # type: ignore[attr-defined]
        sys.modules["kaggle.rest"] = rest
