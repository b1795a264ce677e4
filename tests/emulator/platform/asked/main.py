"""A function that is called by HTTP: it says how often it was asked, and what its environment wishes. Knows no more."""

import itertools
import os

import flask
import functions_framework

count = itertools.count(1)


@functions_framework.http
def answer(request: flask.Request) -> dict[str, object]:
    return {"time": next(count), "wish": os.environ["WISH"], "method": request.method, "sent": request.get_json()}
