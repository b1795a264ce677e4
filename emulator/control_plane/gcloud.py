"""How the unmodified gcloud is made to talk to a local control plane, and to nobody else.

Each API has an endpoint override. Cloud Run's is a name that exists nowhere, because gcloud puts the region in front of
it; so we are gcloud's proxy as well, and get to see whatever it asks for. An API that has no override here is asked for
by https, and refused by the proxy: nothing ever leaves the machine.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

APIS: Final = (
    "artifactregistry", "cloudbuild", "cloudfunctions", "cloudresourcemanager", "cloudscheduler", "eventarc",
    "firebaserules", "firestore", "iam", "logging", "monitoring", "pubsub", "secretmanager", "serviceusage",
)  # fmt: skip


def environment(url: str, project: str, folder: Path) -> Mapping[str, str]:
    """The variables for a control plane at this URL; gcloud keeps what it has to keep in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    token = folder / "access-token"
    token.write_text("anybody\n", "utf-8")
    proxy = urlsplit(url)
    overrides = {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name.upper()}": f"{url}/{name}/" for name in APIS}
    return {
        **overrides,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN": "http://run.localhost/run/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": f"{url}/storage/v1/",
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CONFIG": str(folder / "config"),
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "true",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_CORE_PROJECT": project,
        "CLOUDSDK_CORE_SHOW_STRUCTURED_LOGS": "never",
        "CLOUDSDK_PROXY_ADDRESS": proxy.hostname or "",
        "CLOUDSDK_PROXY_PORT": str(proxy.port),
        "CLOUDSDK_PROXY_TYPE": "http",
    }
