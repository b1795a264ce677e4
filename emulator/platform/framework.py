"""How functions are run under the functions-framework: each in a process of its own, as in the cloud, or all in one."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from emulator.platform.functions import Function
from emulator.platform.process import Program
from emulator.web import LOOPBACK


def alone(function: Function, port: int, exports: Mapping[str, str]) -> Program:
    """The framework as everybody starts it."""
    command = [sys.executable, "-m", "functions_framework", "--source", str(function.main)]
    command += ["--target", function.target, "--signature-type", function.signature]
    command += ["--host", LOOPBACK, "--port", str(port)]
    about = {
        "K_SERVICE": function.name,
        "K_REVISION": f"{function.name}-00001-local",
        "FUNCTION_TARGET": function.target,
        "FUNCTION_SIGNATURE_TYPE": function.signature,
        "THREADS": str(max(2, function.concurrency)),  # the framework's default knows the machine, not the function
    }
    environment = _environment(exports, about, function.environment)
    return Program(function.name, port, command, function.main.parent, environment)


def all_in_one(functions: Sequence[Function], port: int, exports: Mapping[str, str]) -> Program:
    """One start and one import of everything, for speed; each function answers at a path that is its name.

    A process has one environment: where two functions want different values of a variable, the later one has its way.
    """
    listed = json.dumps({each.name: [each.target, str(each.main), each.signature] for each in functions})
    program = Path(__file__).with_name("together.py")
    command = [sys.executable, "-P", str(program), LOOPBACK, str(port), listed]  # -P: its neighbours are no modules
    environment = _environment(exports, *(function.environment for function in functions))
    return Program("functions", port, command, functions[0].main.parent, environment)


def _environment(*layers: Mapping[str, str]) -> dict[str, str]:
    merged = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for layer in layers:
        merged.update(layer)
    return merged
