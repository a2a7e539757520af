"""The file of what Triton did in this process, and what is said of that which could not be recorded.

Out: `triton-<pid>.jsonl` in KERNCAP_TRITON_RECORDS (docs/interfaces.md, Triton's records).
"""

import hashlib
import json
import os
import sys
import threading

# Releases whose insides were looked at; another one is named in the records, and tried all the same.
KNOWN = ("3.4", "3.5", "3.6", "3.7", "3.8", "3.9")


class Records:
    """The file of this process; a forked child has its own. Lines are whole: each is one write."""

    def __init__(self, folder):
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = None
        self._fd = None
        self._written = {}

    def write(self, kind, key, document, anew=False):
        """Once for each key. `anew`: again when the document is not the one that was written last for this key."""
        with self._lock:
            if self._pid != os.getpid():
                self._open()
            content = hashlib.sha256(json.dumps(document, default=repr).encode()).digest() if anew else None
            if key in self._written and self._written[key] == content:
                return False
            self._written[key] = content
            line = json.dumps({"record": kind, **document}, default=repr) + "\n"
            os.write(self._fd, line.encode("utf-8", "backslashreplace"))
            return True

    def forked(self):
        """In a child: a thread that held the lock is not in it."""
        self._lock = threading.Lock()

    def _open(self):
        self._pid = os.getpid()
        self._written = {}
        path = os.path.join(self._folder, f"triton-{self._pid}.jsonl")
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        version = triton_version()
        head = {
            "record": "process",
            "schema": "kerncap.triton-records/1",
            "pid": self._pid,
            "triton": version,
            "known": version.rpartition(".")[0] in KNOWN or ".".join(version.split(".")[:2]) in KNOWN,
            "python": sys.version.partition(" ")[0],
        }
        os.write(self._fd, (json.dumps(head) + "\n").encode())


records = Records(os.environ.get("KERNCAP_TRITON_RECORDS", ""))
os.register_at_fork(after_in_child=records.forked)
_said = set()


def complain(where, error):
    """Once for each place: to a person, and into the records."""
    text = f"{where}: {type(error).__name__}: {error}"
    if where in _said:
        return
    _said.add(where)
    try:
        os.write(2, f"kerncap: triton: {text}; the capture will lack it\n".encode("utf-8", "backslashreplace"))
        records.write("error", ("error", where), {"where": where, "message": text})
    except Exception:  # there is nobody left to tell
        pass


def guarded(where, call, *args):
    """The result, or None when it failed, which has been said."""
    try:
        return call(*args)
    except Exception as error:
        complain(where, error)
        return None


def triton_version():
    return str(getattr(sys.modules.get("triton"), "__version__", "unknown"))
