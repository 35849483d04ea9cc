"""Runs abide under strace, as nobody, and compares what it asks of the kernel with what the unit allows. It plays
systemd's part of Type=notify, too.

    trial.py UNIT ABIDE
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

# glibc asks by it which families this machine has, and goes on where it may not.
TOLERATED = {"AF_NETLINK"}


def settings(unit, key):
    return [line.split("=", 1)[1].strip() for line in unit.splitlines() if line.startswith(f"{key}=")]


def group(name):
    """The system calls of a name, or of an @group."""
    if not name.startswith("@"):
        return {name}
    command = ["systemd-analyze", "--no-pager", "syscall-filter", name]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    inside = [line.strip() for line in out.stdout.splitlines()[1:]]
    return set().union(*(group(line) for line in inside if line and not line.startswith("#")))


def allowed(unit):
    calls = group("@default")
    for line in settings(unit, "SystemCallFilter"):
        named = set().union(*(group(name) for name in line.lstrip("~").split()))
        calls = calls - named if line.startswith("~") else calls | named
    return calls


class Provider(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(429 if self.path == "/busy" else 200)
        self.send_header("Retry-After", "60")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def run(abide, there):
    """Serves, refuses, drains. What strace wrote, what systemd was told, what went wrong."""
    provider = HTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(f"{there}/notify")
    notify.settimeout(0.2)
    shutil.copy(abide, f"{there}/abide")
    state = there / "state"
    state.mkdir()
    for path in (there, there / "notify", there / "abide", state):
        path.chmod(0o777)
    # Nobody but root is somebody else.
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    told, errors = [], open(there / "errors", "w+b")
    environment = {
        "PATH": os.environ["PATH"],
        "ABIDE_STATE": str(state),
        "NOTIFY_SOCKET": f"{there}/notify",
        "WATCHDOG_USEC": "2000000",
    }
    # localhost is looked up; the name of the second is not there.
    command = ["strace", "-f", "-qq", "-o", there / "trace", *user, there / "abide", "serve", "--listen", "127.0.0.1:0"]
    for upstream in (f"shop=http://localhost:{provider.server_port}", "gone=https://abide.invalid"):
        command += ["--upstream", upstream]
    strace = subprocess.Popen(command, cwd=state, env=environment, stdout=subprocess.DEVNULL, stderr=errors)

    def listen(until):
        end = time.monotonic() + 10
        while time.monotonic() < end and strace.poll() is None and not until():
            try:
                told.append(notify.recv(4096).decode())
            except TimeoutError:
                pass

    def said():
        return (there / "errors").read_text()

    def signal_it(which):
        for child in pathlib.Path(f"/proc/{strace.pid}/task/{strace.pid}/children").read_text().split():
            os.kill(int(child), which)

    listen(lambda: re.search(r"listening on http://\S+:\d+", said()))
    at = re.search(r"listening on (http://[^\s;]+)", said())
    wrong = None
    if at:
        for path in ("/shop/a", "/shop/busy", "/shop/a", "/gone/a", "/-/live", "/-/ready", "/-/metrics"):
            asked = urllib.request.Request(at[1] + path, headers={"Prefer": "wait=0"})
            try:
                urllib.request.urlopen(asked, timeout=3).read()
            except (urllib.error.URLError, TimeoutError):
                pass
        notifies = any("READY=1" in t for t in told)
        if notifies:
            signal_it(signal.SIGHUP)
            listen(lambda: any("WATCHDOG=1" in t for t in told))
        signal_it(signal.SIGTERM)
        listen(lambda: False if strace.poll() is None else True)
        try:
            code = strace.wait(timeout=30)
            wrong = f"it ended with {code}: {said()}" if code else None
        except subprocess.TimeoutExpired:
            wrong = "it does not end after SIGTERM"
    if strace.poll() is None:
        signal_it(signal.SIGKILL)
        strace.wait()
    # What was sent last may still lie there.
    try:
        while True:
            told.append(notify.recv(4096).decode())
    except TimeoutError:
        pass
    provider.shutdown()
    if not at:
        wrong = said()
    return (there / "trace").read_text(), "\n".join(told), wrong


def main(unit, abide):
    unit = pathlib.Path(unit).read_text()
    probe = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, text=True)
    if probe.returncode:
        print(f"skipped: no process can be traced here ({probe.stderr.strip()})")
        return False
    with tempfile.TemporaryDirectory() as there:
        trace, told, wrong = run(abide, pathlib.Path(there))
    faults = [wrong] if wrong else []
    calls = set(re.findall(r"^\d+ +(\w+)\(", trace, re.M))
    faults += [f"{call} is not in SystemCallFilter" for call in sorted(calls - allowed(unit))]
    families = set(re.findall(r"\bsocket\((AF_\w+)", trace)) - TOLERATED
    known = set(" ".join(settings(unit, "RestrictAddressFamilies")).split())
    faults += [f"{family} is not in RestrictAddressFamilies" for family in sorted(families - known)]
    if re.search(r"(mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC", trace):
        faults.append("it asks for memory that can be written and run (MemoryDenyWriteExecute)")
    if "READY=1" in told:
        faults += [f"systemd is never told {word}" for word in ("STOPPING=1", "WATCHDOG=1") if word not in told]
    else:
        print("skipped: Type=notify (this abide tells systemd nothing)")
    for fault in faults:
        print(fault)
    print(f"{len(calls)} system calls, {', '.join(sorted(families))}")
    return bool(faults)


sys.exit(main(*sys.argv[1:]))
