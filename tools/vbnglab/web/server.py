# SPDX-License-Identifier: BSD-3-Clause
"""The HTTP server of the live page: a few files and some JSON answers. lab/serve.py says who may ask."""

import os
import re

from ..lab import serve
from ..lab.serve import BadQuery, query_of
from .state import KINDS
from .subscribers import SORTS

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}
MOST_PAGES = 10**6
MOST_SUBSCRIBERS = 10**7


def files():
    """{path: (type, content)} of all files that are served, read once."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        kind = TYPES.get(os.path.splitext(name)[1])
        if kind is not None:
            with open(os.path.join(FOLDER, name), "rb") as f:
                found["/" + name] = (kind, f.read())
    found["/"] = found.pop("/index.html")
    return found


def _sort(text):
    if text not in SORTS:
        raise BadQuery(f"sort: expected one of {', '.join(SORTS)}")
    return text


def _page(text):
    if not re.fullmatch("[0-9]{1,7}", text) or int(text) > MOST_PAGES:
        raise BadQuery(f"page: expected a number, 0 to {MOST_PAGES}")
    return int(text)


def _search(text):
    if len(text) > 64 or not text.isprintable():
        raise BadQuery("search: expected an id, address, MAC, GRE key, profile, or a part of 'PORT SVLAN.CVLAN' or of a name; 64 characters at most")
    return text


def _id(text):
    if not re.fullmatch("[0-9]{1,8}", text) or not 1 <= int(text) <= MOST_SUBSCRIBERS:
        raise BadQuery(f"id: expected a number, 1 to {MOST_SUBSCRIBERS}")
    return int(text)


def _kind(text):
    if text not in KINDS:
        raise BadQuery(f"kind: expected one of {', '.join(KINDS)}")
    return text


class Handler(serve.Handler):
    """Answers with files and with JSON."""

    server_version = "vbng-web"
    headers_too = {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                                   "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    }

    def answer(self, path, query):
        answers = {"/api/state": self._state, "/api/plan": self._plan, "/api/subscribers": self._subscribers,
                   "/api/subscriber": self._subscriber, "/api/distribution": self._distribution, "/api/history": self._history, "/api/sessions": self._sessions}
        if path in answers:
            self.send_json(*answers[path](query))
        elif path in self.server.files:
            self.send(200, *self.server.files[path])
        else:
            self.send_json(404, {"error": "there is nothing here; the page is /"})

    def _state(self, query):
        query_of(query)
        return 200, self.server.state.snapshot()

    def _plan(self, query):
        query_of(query)
        plan = self.server.state.planned()
        return (200, plan) if plan is not None else (503, {"error": "no vbng has been read yet"})

    def _subscribers(self, query):
        return 200, self.server.subscribers.page(**query_of(query, sort=("id", _sort), page=(0, _page), search=("", _search)))

    def _subscriber(self, query):
        number = query_of(query, id=(None, _id))["id"]
        if number is None:
            raise BadQuery("id: expected a number")
        found = self.server.watch.subscriber(number - 1)
        return (200, found) if found is not None else (404, {"error": f"no subscriber has the id {number}"})

    def _distribution(self, query):
        query_of(query)
        return 200, self.server.distribution.get()

    def _sessions(self, query):
        query_of(query)
        return 200, self.server.control_plane.get()

    def _history(self, query):
        return 200, self.server.state.history(query_of(query, kind=("gateway", _kind))["kind"])


class Server(serve.Server):
    """The server of the page. state: a State; subscribers: a Subscribers; watch: a Watch; distribution: a Distribution; control_plane: a
    ControlPlane; the others are those of serve.Server."""

    def __init__(self, address, state, subscribers, watch, distribution, control_plane, exposed=False, names=()):
        super().__init__(address, Handler, exposed, names)
        self.state, self.subscribers, self.watch, self.distribution, self.control_plane = state, subscribers, watch, distribution, control_plane
        self.files = files()
