"""What was uploaded: the zip of a function's sources, and the folder that it becomes."""

import io
import itertools
import shutil
import zipfile
from pathlib import Path
from typing import Final

from emulator.control_plane.errors import invalid
from emulator.control_plane.resources import Json

BUCKET: Final = "gcf-v2-uploads"


class Uploads:
    """An address to upload to, then a source that a function is made of."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._contents: dict[str, bytes] = {}

    def announce(self, base: str) -> Json:
        name = f"source-{next(self._numbers):06d}.zip"
        return {"uploadUrl": f"{base}/{name}", "storageSource": {"bucket": BUCKET, "object": name}}

    def receive(self, name: str, content: bytes) -> None:
        self._contents[name] = content

    def unpack(self, source: Json, folder: Path) -> None:
        """Into a fresh folder; a name that leads out of it is refused, not followed."""
        name = str(source.get("storageSource", {}).get("object", ""))
        if name not in self._contents:
            raise invalid(f"The source {BUCKET}/{name} was never uploaded.")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            with zipfile.ZipFile(io.BytesIO(self._contents[name])) as archive:
                root = folder.resolve()
                for member in archive.namelist():
                    if not (root / member).resolve().is_relative_to(root):
                        raise invalid(f"The source has a file outside of its folder: {member}")
                archive.extractall(folder)
        except zipfile.BadZipFile as error:
            raise invalid(f"The source is not a zip file: {error}") from error
