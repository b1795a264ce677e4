"""One event on its way to a function, and what came of it."""

from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from emulator.eventarc.events import Event
from emulator.eventarc.triggers import Subscription


class NotDelivered(Exception):
    """Answered with anything but 2xx, or not at all."""


def post(event: Event, subscription: Subscription) -> None:
    """Send it, on a connection of its own: a kept one may be gone by now, and that would look like a failure."""
    address = urlsplit(subscription.url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=subscription.timeout)
    try:
        connection.request("POST", address.path or "/", event.body, dict(event.headers))
        reply = connection.getresponse()
        reply.read()
    except (OSError, HTTPException) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()
    if not 200 <= reply.status < 300:
        raise NotDelivered(f"answered {reply.status}")
