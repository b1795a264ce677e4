"""Who a policy may name."""

from collections.abc import Mapping
from typing import Any, Final

from emulator.control_plane.errors import invalid
from emulator.control_plane.resources import Name, Resources

_OF_A_PROJECT: Final = ".iam.gserviceaccount.com"
_GOOGLES_OWN: Final = "gcp-sa-"


def account(email: str) -> Name:
    """The service account that has this address."""
    project = email.partition("@")[2].removesuffix(_OF_A_PROJECT)
    return Name("iam", f"projects/{project}/serviceAccounts/{email}")


def check_members(resources: Resources, policy: Mapping[str, Any]) -> None:
    """A policy names nobody who does not exist, at least among the projects' own service accounts."""
    for binding in policy.get("bindings", []):
        for member in binding.get("members", []):
            kind, _, email = member.partition(":")
            domain = email.partition("@")[2]
            of_a_project = domain.endswith(_OF_A_PROJECT) and not domain.startswith(_GOOGLES_OWN)
            if kind == "serviceAccount" and of_a_project and resources.find(account(email)) is None:
                raise invalid(f"Service account {email} does not exist.")
