"""Artifacts as files, and one step's artifact by its address: a file on a laptop, the console's page in the cloud."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from flowcore.cli.looking import step_of
from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.domain.errors import Code, ValidationError
from flowcore.domain.model import Run

_SCHEME = "gs://"


def save(folder: Path, uri: str, content: bytes) -> Path:
    """Below the folder, under the object's own name, whatever that name tries."""
    _, _, name = uri.removeprefix(_SCHEME).partition("/")
    file = folder / "artifacts" / name
    if not name or not file.resolve().is_relative_to(folder.resolve()):
        raise ValidationError(Code.INVALID_REQUEST, f"{uri} cannot be a file in {folder}; its name leads elsewhere")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def artifact_of(there: World, run: Run, step_id: str, folder: Path) -> str:
    """Returns the address of what the step made."""
    step = step_of(run, step_id)
    uri = step.gcs_uri or step.outputs.get("outputsManifestGcsUri")
    if not isinstance(uri, str) or not uri.startswith(_SCHEME):
        raise Problem(
            f"{run.run_id}: {step_id} is {step.status} and has no artifact; "
            f"{there.command(f'show {run.run_id}')} says why",
            Exit.MISSING,
        )
    if not there.local:
        path = quote(uri.removeprefix(_SCHEME))
        return f"https://console.cloud.google.com/storage/browser/_details/{path}?project={quote(there.project)}"
    return save(folder, uri, there.artifacts.read(uri)).resolve().as_uri()
