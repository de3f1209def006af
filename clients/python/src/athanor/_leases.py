"""The tensors that a client owns."""

from __future__ import annotations

import queue
import threading
import time

LONGEST_RENEWAL = 200.0  # seconds between renewals at most: results begin with the service's own lease


class Leases:
    """When to renew which lease, and which tensors to free. Thread-safe.

    Args:
        lease: seconds.
    """

    def __init__(self, lease: int) -> None:
        self.period = min(lease / 3, LONGEST_RENEWAL)
        self.tick = self.period / 4
        # Handles of tensors that were garbage collected. Finalizers run anywhere, even while their thread
        # holds a lock; a SimpleQueue is made for that. None ends the thread that reads it.
        self.garbage: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._due: dict[str, float] = {}
        self._lock = threading.Lock()

    def hold(self, handle: str) -> None:
        """Begins to renew a lease."""
        with self._lock:
            self._due[handle] = time.monotonic() + self.period

    def renewed(self, handle: str) -> None:
        """Notes a renewal, unless the tensor was given up meanwhile."""
        with self._lock:
            if handle in self._due:
                self._due[handle] = time.monotonic() + self.period

    def forget(self, handle: str) -> None:
        """Stops renewing a lease."""
        with self._lock:
            self._due.pop(handle, None)

    def due(self) -> list[str]:
        """Returns the handles whose leases are to be renewed now."""
        now = time.monotonic()
        with self._lock:
            return [handle for handle, at in self._due.items() if at <= now]

    def take_all(self) -> set[str]:
        """Returns every handle that is held or was garbage collected, and forgets them."""
        with self._lock:
            handles = set(self._due)
            self._due.clear()
        while not self.garbage.empty():
            handle = self.garbage.get()
            if handle:
                handles.add(handle)
        return handles
