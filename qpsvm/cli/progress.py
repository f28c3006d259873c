"""Progress display for commands that take noticeably long.

Nothing is drawn unless stderr is a terminal, and nothing in the first two seconds.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from qpsvm.backends import Progress
from qpsvm.cli.printing import console

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE = 2.0


class SolveStatus:
    """A spinner with stage and iteration; its ``callback`` is for ``qpsvm.solve``.

    Attributes
    ----------
    events : list of Progress
        Everything the solve said, for the report.
    """

    def __init__(self, what: str, *, enabled: bool = True) -> None:
        self._console = console(stderr=True)
        self._enabled = enabled and self._console.is_terminal
        self._text = what
        self._status: Status | None = None
        self._done = False
        self.events: list[Progress] = []
        # the timer's thread and the solver's callback both touch the spinner
        self._lock = threading.Lock()
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True

    def __enter__(self) -> SolveStatus:
        if self._enabled:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._done = True
            if self._status is not None:
                self._status.stop()

    def callback(self, event: Progress) -> None:
        """Store an event of the solve and show it."""
        self.events.append(event)
        text = f"{event.backend}: {event.stage}"
        if event.n_variables is not None:
            text += f", {event.n_variables} variables, {event.n_rows} rows"
        if event.iteration is not None:
            text += f", iteration {event.iteration}"
        if event.gap is not None:
            text += f", gap {event.gap:.1e}"
        elif event.residual is not None:
            text += f", residual {event.residual:.1e}"
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(text)

    def _show(self) -> None:
        with self._lock:
            if not self._done:
                self._status = self._console.status(self._text)
                self._status.start()
