"""`flow up`: the whole platform on this machine, until Ctrl-C."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def up(
    *,
    data_dir: Annotated[Path | None, typer.Option(help="Keep everything in this folder (else: in memory).")] = None,
    port_base: Annotated[int | None, typer.Option(help="The first of the ports (else: any free ones).")] = None,
    time_scale: Annotated[float, typer.Option(help="How much faster retries come; 3600: hours as seconds.")] = 1.0,
    reload: Annotated[bool, typer.Option("--reload", help="Start a function anew when its source changes.")] = False,
    single_process: Annotated[
        bool,
        typer.Option("--single-process", help="All functions in one process and one environment, for speed."),
    ] = False,
    firestore: Annotated[
        Literal["ours", "official"],
        typer.Option(help="official: gcloud's emulator; no faults or counters of its calls, no --data-dir."),
    ] = "ours",
    log_dir: Annotated[
        Path | None, typer.Option(help="Where a log file for each part is written (else: .flow/logs).")
    ] = None,
    project: Annotated[str, typer.Option(help="The name of the Google Cloud project.")] = "demo-local",
    function: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SOURCE:TARGET[@PATTERN:TYPE]",
            help="Run this function, too: told of the documents that fit, or called by HTTP. Repeatable.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="When it is ready, one line of JSON; all else goes to standard error.")
    ] = False,
) -> None:
    """Run the platform on this machine: stores, events, models and the functions, until Ctrl-C.

    It brings the bucket and the seeds along, prints what to export, then a line for each event that is delivered and
    for each status that changes. In another shell, here or in a folder below, flow run market_report_v1 finds it; so
    does anything else after eval "$(flow env)". What it knows of itself is kept in .flow/platform.json.
    """
    from flowcore.cli.running import run  # here, because the emulator takes a second to import

    run(
        functions=function or (),
        log_dir=log_dir,
        project=project,
        single_process=single_process,
        firestore=firestore,
        port_base=port_base,
        data_dir=data_dir,
        time_scale=time_scale,
        reload=reload,
        as_json=as_json,
    )
