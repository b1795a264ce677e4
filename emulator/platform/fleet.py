"""The functions at work: started, reached, started anew, ended."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from emulator.faults.callers import Caller, Connection
from emulator.platform import framework, holding, ports
from emulator.platform.errors import PlatformFailed
from emulator.platform.functions import Function
from emulator.platform.guardian import Guardian
from emulator.platform.log import Log
from emulator.platform.ports import Ports
from emulator.platform.process import Process, Program

READY_WITHIN: Final = 30.0  # seconds that functions may take to answer


class Fleet:
    """Each function in a process of its own, or all in one."""

    def __init__(self, functions: Sequence[Function], places: Ports, log: Log, *, single_process: bool) -> None:
        self.processes: Final[dict[str, Process]] = {}
        self._all: list[Process] = []
        self._functions = functions
        self._ports = places
        self._log = log
        self._single_process = single_process

    def start(self, exports: Mapping[str, str], guard: Guardian) -> None:
        """Returns when every function answers."""
        self._check()
        if self._single_process:
            port = self._ports.for_process(ports.FUNCTIONS, "functions")
            process = self._begun(framework.all_in_one(self._functions, port, exports), guard)
            self.processes.update(dict.fromkeys((function.name for function in self._functions), process))
        else:
            for place, function in enumerate(self._functions, ports.FUNCTIONS):
                port = self._ports.for_process(place, function.name)
                self.processes[function.name] = self._begun(framework.alone(function, port, exports), guard)
        for process in self._all:
            process.await_health(READY_WITHIN)

    def url_of(self, name: str) -> str:
        """Where a function is called, or told of events."""
        return self.processes[name].url + (f"/{name}/" if self._single_process else "/")

    def caller(self, connection: Connection) -> Caller | None:
        """Whose connection it is; none when it is nobody's of ours."""
        processes = {process.pid: process for process in self._all}
        pid = holding.holder_of(holding.sockets_of(connection), processes)
        return Caller(processes[pid].name, partial(processes[pid].kill, pid)) if pid is not None else None

    def stop(self) -> None:
        for process in self._all:  # together: each may take its time
            process.begin_to_stop()
        for process in self._all:
            process.stop()
        self.processes.clear()
        self._all.clear()

    def _begun(self, program: Program, guard: Guardian) -> Process:
        process = Process(program, self._log, guard)
        self._all.append(process)
        return process

    def _check(self) -> None:
        names = [function.name for function in self._functions]
        for function in self._functions:
            if not function.main.is_file():
                raise PlatformFailed(f"{function.name}: {function.main} is not there")
            if names.count(function.name) > 1:
                raise PlatformFailed(f"{function.name}: two functions have this name")
