"""One request to a desk, repeated while that may help: every route of the API may be repeated."""

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx

from mcpdesk.client.errors import Unreachable, error_of

#: Answers of a proxy, or of a desk that starts, after which it is tried again.
_AWAY: Final = frozenset({502, 503, 504})
_TOO_MANY: Final = 429
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0


@dataclass(slots=True)
class Sender:
    """Sends for one token. `patience_s`: how long a desk that is away is waited for."""

    http: httpx.Client
    patience_s: float

    def send(self, method: str, path: str, **request: Any) -> Any:
        """The JSON of the answer. Raises ApiError and Unreachable."""
        ends_at, pause = time.monotonic() + self.patience_s, _FIRST_PAUSE_S
        while True:
            answer, why = self._once(method, path, request)
            if answer is not None and answer.status_code not in _AWAY | {_TOO_MANY}:
                return _read(answer)
            pause_s = _pause(answer, pause)
            if time.monotonic() + pause_s > ends_at:
                raise self._given_up(answer, why)
            time.sleep(pause_s)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def send_once(self, method: str, path: str, **request: Any) -> Any:
        """The JSON of the answer to what must not be said twice. Raises ApiError and Unreachable:
        then it may have been done.
        """
        answer, why = self._once(method, path, request)
        if answer is None or answer.status_code in _AWAY | {_TOO_MANY}:
            raise self._given_up(answer, why)
        return _read(answer)

    @contextmanager
    def stream(self, path: str, **request: Any) -> Iterator[Iterator[str]]:
        """The lines of an answer as they come. Raises ApiError and Unreachable."""
        try:
            with self.http.stream("GET", path, **request) as answer:
                if answer.is_error:
                    answer.read()
                    check(answer)
                yield answer.iter_lines()
        except httpx.TransportError as error:
            raise Unreachable(f"The file broke off: {error or type(error).__name__}.") from None

    def _once(
        self, method: str, path: str, request: Mapping[str, Any]
    ) -> tuple[httpx.Response | None, str]:
        try:
            return self.http.request(method, path, **request), ""
        except httpx.TransportError as error:
            return None, str(error) or type(error).__name__

    def _given_up(self, answer: httpx.Response | None, why: str) -> Exception:
        if answer is not None and answer.status_code == _TOO_MANY:
            return error_of(answer.status_code, _problem(answer))
        said = f"it answers {answer.status_code}" if answer is not None else why.rstrip(".")
        desk = self.http.base_url
        where = f"{desk.scheme}://{desk.netloc.decode('ascii')}"
        return Unreachable(f"The desk at {where} cannot be reached: {said}.")


def _pause(answer: httpx.Response | None, pause: float) -> float:
    """As long as the desk says, or longer each time, with jitter (s)."""
    said = answer.headers.get("Retry-After", "") if answer is not None else ""
    return float(said) if said.isdecimal() else pause * random.uniform(0.5, 1.5)  # noqa: S311


def _read(answer: httpx.Response) -> Any:
    check(answer)
    try:
        return answer.json()
    except ValueError:
        raise _no_desk(answer) from None


def check(answer: httpx.Response) -> None:
    """Raise ApiError for what the desk refuses, Unreachable for what no desk answers."""
    if not answer.is_error:
        return
    problem = _problem(answer)
    raise error_of(answer.status_code, problem) if problem else _no_desk(answer)


def _no_desk(answer: httpx.Response) -> Unreachable:
    address = answer.url.copy_with(query=None)
    return Unreachable(f"{address} is not answered by a desk (status {answer.status_code}).")


def _problem(answer: httpx.Response) -> dict[str, Any]:
    try:
        problem = answer.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
