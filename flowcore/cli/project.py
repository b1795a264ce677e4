"""The project's own functions, as `flow up` runs them: those of functions/functions.toml."""

from emulator.platform import Function, Schedule
from flowcore.cli.world import AT_HOME, COLLECTION
from functions.catalogue import deployables


def functions() -> list[Function]:
    return [
        Function(
            deployable.name,
            deployable.folder,
            deployable.name,
            f"{COLLECTION}/{{runId}}" if deployable.run_triggered else None,
            concurrency=deployable.concurrency,
            timeout=deployable.timeout,
            environment={**deployable.environment, **AT_HOME},
            schedules=[Schedule(every, query) for query, every in deployable.schedules.items()],
        )
        for deployable in deployables()
    ]
