"""Several functions in one process: the functions-framework makes each of them an app, and this gives each a path.

Runs as a program of its own, without the rest of the emulator:
`together.py HOST PORT {"name": ["target", "main.py", "http or cloudevent"]}`.
"""

import json
import logging
import sys
from typing import Any

from functions_framework import create_app
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

make: Any = create_app  # it carries no types


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for each event is Eventarc's to write
    host, port, listed = sys.argv[1:]
    apps = {f"/{name}": make(*arguments) for name, arguments in json.loads(listed).items()}
    make_server(host, int(port), DispatcherMiddleware(NotFound(), apps), threaded=True).serve_forever()


if __name__ == "__main__":
    main()
