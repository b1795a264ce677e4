"""One server for the session; each test begins with an empty script and fair weather."""

from collections.abc import Iterator

import pytest
from google import genai

from emulator.gemini import GeminiServer

KEY = "the-right-key"


@pytest.fixture(scope="session")
def running() -> Iterator[GeminiServer]:
    server = GeminiServer(key=KEY).start()
    yield server
    server.stop()


@pytest.fixture
def server(running: GeminiServer) -> GeminiServer:
    running.faults.clear()
    running.faults.calls.clear()
    running.script.clear()
    return running


@pytest.fixture(scope="session")
def connected(running: GeminiServer) -> Iterator[genai.Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_GEMINI_BASE_URL", running.url)
        client = genai.Client(api_key=KEY)
    yield client
    client.close()


@pytest.fixture
def client(server: GeminiServer, connected: genai.Client) -> genai.Client:
    return connected
