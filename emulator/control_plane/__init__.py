"""Google Cloud's control plane on a laptop: the unmodified gcloud deploys to it, and what it deploys really runs.

    with Cloud(Platform()) as cloud:
        subprocess.run(["gcloud", "functions", "deploy", …], env=os.environ | cloud.exports)

or, in a shell, `python -m emulator.control_plane`. From the inside out: `resources` keeps JSON by name, with ETags and
policies; `operations` are the promises of what takes its time; `routing` and `collection` are what Google's APIs have
in common, and `apis` what they have not. A rollout makes `sources`, with `interpreters`, a service of the `runtime`;
`door` lets callers in, `api` and `server` put it all on a port, `gcloud` says how gcloud gets there, and `cloud` brings
the platform along. `DIFFERENCES.md` says what is not as in the cloud.
"""

from emulator.control_plane.cloud import Cloud
from emulator.control_plane.server import ControlPlaneServer

__all__ = ["Cloud", "ControlPlaneServer"]
