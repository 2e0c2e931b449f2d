"""Imports within functions: `with importing: ...`. A child of a fork by another thread in the midst of one would wait for ever
for the lock that CPython has for each module, so that forks wait until it has ended."""

import os
import threading

importing = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)
