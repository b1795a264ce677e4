"""Service accounts: created with an id, known by an address from then on."""

import re
import zlib
from typing import Final

from emulator.control_plane.collection import Collection, State
from emulator.control_plane.errors import Refused, invalid
from emulator.control_plane.members import account
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import Asked, GoogleApi

API: Final = "iam"
_ID: Final = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])")


class ServiceAccounts(Collection):
    def __init__(self, state: State) -> None:
        super().__init__(state, API, "projects/*/serviceAccounts/*", wrapped="serviceAccount", times=())

    def create(self, asked: Asked) -> Json:
        identity = str(asked.body.get("accountId", ""))
        if not _ID.fullmatch(identity):
            raise invalid(f"'{identity}' is no id of a service account: 6 to 30 of a-z, 0-9 and -, from a letter on.")
        project = asked.name.rpartition("/")[2]
        email = f"{identity}@{project}.iam.gserviceaccount.com"
        try:
            return self._created(Name(API, f"{asked.name}/serviceAccounts/{email}"), self._wish(asked))
        except Refused as refused:
            if refused.code != 409:
                raise
            raise Refused(409, f"Service account {identity} already exists within project {asked.name}.") from refused

    def complete(self, name: Name, wish: Json) -> Json:
        number = str(10**20 + zlib.crc32(name.path.encode()))
        own = {"projectId": name.project, "email": name.id, "uniqueId": number, "oauth2ClientId": number}
        return {**super().complete(name, wish), **own}

    def begun(self, name: Name, old: Json | None, new: Json | None) -> None:
        """Policies remember a deleted account as such: one that is made anew with its address inherits nothing."""
        if old is not None and new is None:
            member = f"serviceAccount:{name.id}"
            self._state.resources.rename_member(member, f"deleted:{member}?uid={old['uniqueId']}")

    def list(self, asked: Asked) -> Json:
        return {"accounts": super().list(asked)[self.plural]}

    def get(self, asked: Asked) -> Json:
        return super().get(_anywhere(asked))

    def delete(self, asked: Asked) -> Json:
        return super().delete(_anywhere(asked))


def iam(state: State) -> GoogleApi:
    return GoogleApi(API, ServiceAccounts(state).routes(), host="iam.googleapis.com")


def _anywhere(asked: Asked) -> Asked:
    """`projects/-/serviceAccounts/EMAIL`: the address says the project."""
    return Asked(asked.request, account(asked.name.rpartition("/")[2]).path)
