"""The breaks, each one exact replacement in one file. A name is a sentence about what the kernel now does wrong.

The old text is as short as it may be while it occurs once, so that the kernel can change around it;
`test_catalogue.py` says which mutant is out of date when it changed too much.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str


_ARTIFACTS = "flowcore/domain/artifacts.py"
_BUDGET = "flowcore/domain/budget.py"
_DEPENDENCIES = "flowcore/domain/dependencies.py"
_ERRORS = "flowcore/domain/errors.py"
_GRAPH = "flowcore/domain/graph.py"
_LIFECYCLE = "flowcore/domain/lifecycle.py"
_MANUAL = "flowcore/domain/manual.py"
_MODEL = "flowcore/domain/model.py"
_MOVES = "flowcore/domain/moves.py"
_PARSE = "flowcore/domain/parse.py"
_PATCH = "flowcore/domain/patch.py"
_PLAN = "flowcore/domain/plan.py"
_RETRY = "flowcore/domain/retry.py"
_EVENT = "flowcore/engine/event.py"
_LOG = "flowcore/adapters/cloud_log.py"
_PATIENCE = "flowcore/engine/patience.py"
_RESULTS = "flowcore/engine/results.py"
_SWEEP = "flowcore/engine/sweep.py"
_UPDATE = "flowcore/engine/update.py"
_WORKER = "flowcore/engine/worker.py"
_CONTEXT = "flowcore/engine/context.py"
_CONFIG = "flowcore/config.py"

_OPTIMISTIC_WRITES = (
    Mutant(
        "a write carries no precondition",
        _UPDATE,
        "runs.update(run_id, patch, snapshot.update_time, ",
        "runs.update(run_id, patch, None, ",
    ),
    Mutant(
        "a write carries the update time of whatever is there now",
        _UPDATE,
        "runs.update(run_id, patch, snapshot.update_time, ",
        "runs.update(run_id, patch, (runs.get(run_id) or snapshot).update_time, ",
    ),
    Mutant(
        "finalize that lost a race writes its old decision over whatever is there now",
        _WORKER,
        'self._update(snapshot, lambda run: finalize(run, self.token, outcome, now()), "finalize")',
        'self._update(snapshot, lambda _: finalize(parse_run(snapshot), self.token, outcome, now()), "finalize")',
    ),
    Mutant(
        "after a lost race the old patch is written again",
        _UPDATE,
        "            patch = decide(run)\n",
        "            if not races:\n                patch = decide(run)\n",
    ),
    Mutant(
        "after a lost race the old snapshot is tried again",
        _UPDATE,
        "\n        snapshot = None\n",
        "\n",
    ),
    Mutant(
        "a lost reply is taken for a failed write",
        _UPDATE,
        "if not patience.after_silence(silences, silence.error):",
        "if silences:",
    ),
    Mutant(
        "the event's snapshot is ignored and the document read",
        _UPDATE,
        "snapshot = snapshot or runs.get(",
        "snapshot = runs.get(",
    ),
    Mutant(
        "a patch that changes nothing is written anyway",
        _PATCH,
        "if changes else NOTHING",
        "if after else NOTHING",
    ),
    Mutant(
        "finalize gives up after three lost races",
        _RETRY,
        '"finalize": Policy(attempts=None,',
        '"finalize": Policy(attempts=3,',
    ),
    Mutant(
        "finalize gives up after five silences",
        _RETRY,
        "replace(_OUTSIDE, attempts=None)",
        "replace(_OUTSIDE)",
    ),
    Mutant(
        "a wait begins that ends after the deadline",
        _PATIENCE,
        "self.clock.monotonic() + delay >= self.ends",
        "self.clock.monotonic() >= self.ends",
    ),
)

_CLAIMS = (
    Mutant(
        "a step is claimed although its run shall be cancelled",
        _LIFECYCLE,
        "run.status is not RunStatus.RUNNING or run.cancel_requested or run.defect",
        "run.status is not RunStatus.RUNNING or run.defect",
    ),
    Mutant(
        "a step is claimed in a run that has not begun",
        _LIFECYCLE,
        "run.status is not RunStatus.RUNNING or",
        "run.status.finished or",
    ),
    Mutant(
        "a step is claimed in a finished run",
        _LIFECYCLE,
        "run.status is not RunStatus.RUNNING or",
        "run.status is RunStatus.PENDING or",
    ),
    Mutant(
        "a step is claimed in a broken run",
        _LIFECYCLE,
        "or run.cancel_requested or run.defect",
        "or run.cancel_requested",
    ),
    Mutant(
        "a step is claimed although a dependency is not SUCCEEDED any more",
        _LIFECYCLE,
        "next((step for step in ready if run.dependencies_succeeded(step)), None)",
        "next(ready, None)",
    ),
    Mutant(
        "the last step by id is claimed first",
        _LIFECYCLE,
        "next((step for step in ready if",
        "next((step for step in reversed(list(ready)) if",
    ),
    Mutant(
        "steps are looked at in the order of the document",
        _PARSE,
        "for step_id in sorted(raw_steps):",
        "for step_id in raw_steps:",
    ),
    Mutant(
        "an invocation that holds a step claims another",
        _LIFECYCLE,
        "if step is None or held(run, token):",
        "if step is None:",
    ),
    Mutant(
        "a claim does not count as an attempt",
        _MOVES,
        "attempt=step.attempt + 1,",
        "attempt=step.attempt,",
    ),
    Mutant(
        "a claim keeps the error of an earlier attempt",
        _MOVES,
        "        attempt=step.attempt + 1,\n        error=None,\n",
        "        attempt=step.attempt + 1,\n",
    ),
    Mutant(
        "a lease ends with the invocation, without a margin",
        _PLAN,
        "CLOCK_SKEW = timedelta(seconds=60)",
        "CLOCK_SKEW = timedelta()",
    ),
    Mutant(
        "a lease lasts only as long as a call to the provider",
        _WORKER,
        "timedelta(seconds=self.worker.budget.invocation) + CLOCK_SKEW",
        "timedelta(seconds=self.worker.budget.provider) + CLOCK_SKEW",
    ),
    Mutant(
        "two deliveries of one event share a token",
        _WORKER,
        "token=self.chance.token(),",
        "token=event.event_id,",
    ),
    Mutant(
        "a claim may use up the time for the work",
        _WORKER,
        "self.deadline.ends if last else self.deadline.ends - self.deadline.reserve",
        "self.deadline.ends",
    ),
    Mutant(
        "a delivery that is not for us reads the document all the same",
        _WORKER,
        "        if self.event.snapshot:\n",
        "        if self.event.snapshot and not self.event.run_id:\n",
    ),
)

_RECORDING = (
    Mutant(
        "whoever finds a RUNNING step holds it, whatever its token",
        _LIFECYCLE,
        "if step.lease and step.lease.token == token:",
        "if step.lease:",
    ),
    Mutant(
        "a worker that lost its claim records FAILED",
        _LIFECYCLE,
        "    step = held(run, token)\n    if step is None:\n        return NOTHING\n",
        "    step = held(run, token)\n"
        "    if step is None and isinstance(outcome, Failed):\n"
        "        step = next(iter(run.in_status(StepStatus.RUNNING)), None)\n"
        "    if step is None:\n"
        "        return NOTHING\n",
    ),
    Mutant(
        "a failure is not counted",
        _LIFECYCLE,
        "moves.with_failure_counted(moves.failed(step, outcome.error, now, outcome.outputs))",
        "moves.failed(step, outcome.error, now, outcome.outputs)",
    ),
    Mutant(
        "a SUCCEEDED step keeps its lease",
        _MOVES,
        "outputs=outputs, error=None, lease=None)",
        "outputs=outputs, error=None)",
    ),
    Mutant(
        "a SUCCEEDED step keeps a stale error",
        _MOVES,
        "outputs=outputs, error=None, lease=None)",
        "outputs=outputs, lease=None)",
    ),
    Mutant(
        "an unforeseen exception leaves the step RUNNING",
        _WORKER,
        "            return Failed(classify(exc))\n",
        "            raise\n",
    ),
    Mutant(
        "the words of a foreign exception go into the document",
        _ERRORS,
        'one_line(f"unexpected {type(exc).__name__}; the log has the trace")',
        'one_line(f"unexpected {exc}; the log has the trace")',
    ),
    Mutant(
        "details of an error are kept without bound",
        _MOVES,
        "if len(json.dumps(plain, default=str)) <= DETAILS_LIMIT:",
        "if plain:",
    ),
    Mutant(
        "an object found by another delivery is not recorded",
        _LIFECYCLE,
        "next(iter(overdue + lost_pointer), None)",
        "next(iter(lost_pointer), None)",
    ),
    Mutant(
        "a RUNNING step is looked after from its first second",
        _LIFECYCLE,
        "ADOPTION_GRACE = timedelta(seconds=30)",
        "ADOPTION_GRACE = timedelta(seconds=-1)",
    ),
    Mutant(
        "a worker looks after steps of another type",
        _LIFECYCLE,
        "mine = [step for step in run.steps.values() if step.step_type == step_type]",
        "mine = list(run.steps.values())",
    ),
    Mutant(
        "a step is adopted without its object",
        _WORKER,
        "found = self._results().existing(run.run_id, step, self._object_name(run, step))",
        "from flowcore.ports import StoredObject\n\n"
        "            name = self._object_name(run, step)\n"
        "            found = StoredObject(name, self.worker.artifacts.uri(name), {})",
    ),
    Mutant(
        "a step that FAILED or was CANCELLED is adopted",
        _LIFECYCLE,
        "if step and step.status is StepStatus.RUNNING:",
        "if step and step.status is not StepStatus.SUCCEEDED:",
    ),
    Mutant(
        "a recorded success is overwritten",
        _LIFECYCLE,
        "    if step and step.status is StepStatus.SUCCEEDED and not step.gcs_uri:\n",
        "    if step and step.status is StepStatus.SUCCEEDED:\n",
    ),
    Mutant(
        "a delivery that lost the claim does not look for the object",
        _WORKER,
        "if now_there and now_there.status is StepStatus.RUNNING:",
        "if now_there and now_there.status is StepStatus.SUCCEEDED:",
    ),
)

_ARTIFACT_RULES = (
    Mutant(
        "the artifact is not looked for before the paid call",
        _WORKER,
        "found = results.existing(run.run_id, step, name)",
        "found = None",
    ),
    Mutant(
        "any object under our name is ours",
        _ARTIFACTS,
        'return (found.get("run"), found.get("step"), found.get("inputs-sha256")) == (',
        'return True or (found.get("run"), found.get("step"), found.get("inputs-sha256")) == (',
    ),
    Mutant(
        "an object of the same run is ours, whichever step made it",
        _ARTIFACTS,
        '    return (found.get("run"), found.get("step"), found.get("inputs-sha256")) == (\n'
        "        run_id,\n        step.step_id,\n",
        '    return (found.get("run"), found.get("inputs-sha256")) == (\n        run_id,\n',
    ),
    Mutant(
        "an object made from other inputs is ours",
        _ARTIFACTS,
        'found.get("inputs-sha256")) == (',
        "inputs_sha256(step)) == (",
    ),
    Mutant(
        "a create that answers 412 takes the object without asking whose it is",
        _RESULTS,
        "            found = self.existing(run_id, step, name)\n",
        "            found = self.reading.persist(lambda timeout: self.artifacts.find(name, timeout))\n",
    ),
    Mutant(
        "outputs are not recorded in the object's metadata",
        _ARTIFACTS,
        '(("outputs", artifact.outputs), ("execution", artifact.execution))',
        '(("execution", artifact.execution),)',
    ),
    Mutant(
        "outputs too large for metadata are recorded there",
        _ARTIFACTS,
        "if len(text) <= METADATA_LIMIT:",
        "if text:",
    ),
    Mutant(
        "an object of ours whose reply was lost is called reused",
        _RESULTS,
        'reused=found.metadata.get("sha256") != digest',
        "reused=True",
    ),
    Mutant(
        "somebody else's text is not called reused",
        _RESULTS,
        'reused=found.metadata.get("sha256") != digest',
        "reused=False",
    ),
    Mutant(
        "the hash in the metadata is that of the inputs",
        _RESULTS,
        "digest = sha256(content)",
        "digest = ownership(run_id, step)['inputs-sha256']",
    ),
    Mutant(
        "evidence of a failed attempt is called the manifest",
        _ARTIFACTS,
        'f"manifest.attempt-{attempt}.json"',
        '"manifest.json"',
    ),
    Mutant(
        "the evidence of a failed step is taken for its result",
        _CONTEXT,
        "if other.status is not StepStatus.SUCCEEDED or not",
        "if not",
    ),
    Mutant(
        "looking for the object may use up the time for the last write",
        _WORKER,
        'reading=self._patience("gcs_read", ends - reserve)',
        'reading=self._patience("gcs_read", ends)',
    ),
    Mutant(
        "storing may use up the time for the last write",
        _WORKER,
        "ends - reserve / 2",
        "ends",
    ),
    Mutant(
        "a call may use up the reserve for its result",
        _BUDGET,
        "self.ends - self.reserve - now",
        "self.ends - now",
    ),
)

_LEASES_AND_RETRIES = (
    Mutant(
        "a lease never ends",
        _PLAN,
        "elif ends <= now:",
        "elif ends <= now and not step.lease:",
    ),
    Mutant(
        "a lease outlives its last instant",
        _PLAN,
        "elif ends <= now:",
        "elif ends < now:",
    ),
    Mutant(
        "a vanished report is given three successors",
        _PLAN,
        '{"LLM_REPORT": 1}',
        '{"LLM_REPORT": 3}',
    ),
    Mutant(
        "a step loses one lease less than it may",
        _PLAN,
        "lost.lease_losses > allowed",
        "lost.lease_losses >= allowed",
    ),
    Mutant(
        "a lost lease in a finished run is offered again",
        _PLAN,
        "if run.status.finished or lost.lease_losses > allowed:",
        "if lost.lease_losses > allowed:",
    ),
    Mutant(
        "a lost lease counts as a failure",
        _PLAN,
        "replace(step, lease_losses=step.lease_losses + 1)",
        "replace(step, lease_losses=step.lease_losses + 1, failures=step.failures + 1)",
    ),
    Mutant(
        "attempt is compared with maxAttempts",
        _PLAN,
        "step.failures < step.max_attempts",
        "step.attempt < step.max_attempts",
    ),
    Mutant(
        "an error that is not retryable is tried again",
        _PLAN,
        "step.error and step.error.retryable and",
        "step.error and",
    ),
    Mutant(
        "a document may overrule the registry's veto",
        _ERRORS,
        "if kind in (Kind.NON_RETRYABLE, Kind.BENIGN):",
        "if kind is Kind.BENIGN:",
    ),
    Mutant(
        "a rest is not waited for",
        _PLAN,
        "and (step.not_before is None or step.not_before <= now)",
        "",
    ),
    Mutant(
        "jitter comes from a random source",
        _RETRY,
        "luck = int.from_bytes(digest[:8]) / 2**64",
        'luck = __import__("random").random()',
    ),
    Mutant(
        "every rest is as short as the first",
        _RETRY,
        "grown = policy.factor ** min(exponent, 64)",
        "grown = 1.0",
    ),
    Mutant(
        "a server's wish for patience is ignored",
        _RETRY,
        "return max(delay, asked) if asked else delay",
        "return delay",
    ),
    Mutant(
        "failed attempts are kept without bound",
        _MOVES,
        "(*step.attempts, plain_map(kept))[-KEPT_ATTEMPTS:]",
        "(*step.attempts, plain_map(kept))",
    ),
    Mutant(
        "an attempt inherits the outputs of the failed one",
        _MOVES,
        "        lease=None,\n        outputs=NO_VALUES,\n",
        "        lease=None,\n",
    ),
)

_ALARM_CLOCK = (
    Mutant(
        "wakeAt does not know that something is due",
        _PLAN,
        "if settled(run, now) != run:",
        "if run.status.finished and settled(run, now) != run:",
    ),
    Mutant(
        "wakeAt is dropped on a finished run with a RUNNING step",
        _PLAN,
        "for step in run.in_status(StepStatus.RUNNING)]\n    if not run.status.finished:",
        "for step in run.in_status(StepStatus.RUNNING) if not run.status.finished]\n    if not run.status.finished:",
    ),
    Mutant(
        "wakeAt forgets steps that nobody takes",
        _PLAN,
        "for step in run.in_status(StepStatus.READY) if step.ready_at]",
        "for step in run.in_status(StepStatus.READY) if step.ready_at and step.nudges]",
    ),
    Mutant(
        "wakeAt forgets steps that rest",
        _PLAN,
        "[step.not_before for step in run.in_status(StepStatus.PENDING) if run.dependencies_succeeded(step)]",
        "[]",
    ),
    Mutant(
        "wakeAt is a text that no query finds",
        _PATCH,
        'yield "wakeAt", after.wake_at or DELETE',
        'yield "wakeAt", encoded(after.wake_at)',
    ),
    Mutant(
        "wakeAt is read from a text that no query finds",
        _PARSE,
        "return times.from_value(value) if isinstance(value, datetime) else None",
        "return times.from_value(value)",
    ),
    Mutant(
        "a nudge changes nothing",
        _MOVES,
        "replace(step, ready_at=now, nudges=nudges)",
        "replace(step)",
    ),
    Mutant(
        "a nudge does not refresh readyAt",
        _MOVES,
        "replace(step, ready_at=now, nudges=nudges)",
        "replace(step, nudges=nudges)",
    ),
    Mutant(
        "nudges have no limit",
        _PLAN,
        "elif step.nudges < MAX_NUDGES:",
        "elif step.nudges >= 0:",
    ),
    Mutant(
        "a step behind others of its type is given up",
        _PLAN,
        "elif _worker_seen(run, step.step_type, since=step.ready_at):",
        "elif False:",
    ),
    Mutant(
        "a worker that was seen once is believed in for ever",
        _PLAN,
        "moment and moment + CLOCK_SKEW > since for",
        "moment for",
    ),
    Mutant(
        "a worker whose clock is late is not seen",
        _PLAN,
        "moment and moment + CLOCK_SKEW > since for",
        "moment and moment > since for",
    ),
    Mutant(
        "a worker of another type is taken for one of this",
        _PLAN,
        "for step in run.steps.values() if step.step_type == step_type)",
        "for step in run.steps.values())",
    ),
    Mutant(
        "a new attempt inherits the nudges of the last",
        _MOVES,
        "ready_at=now, not_before=None, nudges=0)",
        "ready_at=now, not_before=None)",
    ),
    Mutant(
        "sweep stops at the first run that cannot be written",
        _SWEEP,
        'self.log.error("sweep_failed", run_id=snapshot.run_id, exc_info=exc)\n',
        'self.log.error("sweep_failed", run_id=snapshot.run_id, exc_info=exc)\n                break\n',
    ),
    Mutant(
        "sweep goes on after its time is up",
        _SWEEP,
        "if self.clock.monotonic() >= ends:",
        "if self.clock.monotonic() < 0:",
    ),
)

_RUNS = (
    Mutant(
        "one dependency is enough",
        _MODEL,
        "return all(dependency and dependency.status is StepStatus.SUCCEEDED for dependency in found)",
        "return not found or any(d and d.status is StepStatus.SUCCEEDED for d in found)",
    ),
    Mutant(
        "SKIPPED satisfies a dependency",
        _MODEL,
        "dependency.status is StepStatus.SUCCEEDED for",
        "dependency.status in (StepStatus.SUCCEEDED, StepStatus.SKIPPED) for",
    ),
    Mutant(
        "a step that can never run waits for ever",
        _PLAN,
        "_retry, _fail, _skip, _promote, _conclude)",
        "_retry, _fail, _promote, _conclude)",
    ),
    Mutant(
        "a cause is carried down one level only",
        _DEPENDENCIES,
        "            return inherited\n",
        "            return None\n",
    ),
    Mutant(
        "an operator's skip is named before a failure",
        _DEPENDENCIES,
        "next((cause for cause in standing if cause.status is StepStatus.FAILED), standing[0])",
        "next((cause for cause in standing if cause.status is StepStatus.SKIPPED), standing[0])",
    ),
    Mutant(
        "the failure of an optional step fails the run",
        _PLAN,
        "if lost and not step.optional:",
        "if lost:",
    ),
    Mutant(
        "a mandatory step behind an optional failure is silently skipped",
        _PLAN,
        "lost = step.status is StepStatus.FAILED or (blocker and blocker.status is StepStatus.FAILED)",
        "lost = step.status is StepStatus.FAILED",
    ),
    Mutant(
        "a run that failed gives its other failures another try",
        _PLAN,
        "(StepStatus.RUNNING, StepStatus.FAILED)\n",
        "(StepStatus.RUNNING,)\n",
    ),
    Mutant(
        "a run whose steps were cancelled by hand is never concluded",
        _PLAN,
        "    return replace(run, status=RunStatus.CANCELLED, finished_at=now)\n\n\ndef _complete",
        "    return run\n\n\ndef _complete",
    ),
    Mutant(
        "a cancel closes RUNNING steps",
        _PLAN,
        "(moves.cancelled(step, now) for step in waiting)",
        "(moves.cancelled(step, now) for step in (*waiting, *run.in_status(StepStatus.RUNNING)))",
    ),
    Mutant(
        "a cancel beats success",
        _PLAN,
        "if run.cancel_requested and not _complete(run):",
        "if run.cancel_requested:",
    ),
    Mutant(
        "a cancel waits for an optional step that may be tried again",
        _PLAN,
        "step.optional and not _has_retries(step)",
        "step.optional",
    ),
    Mutant(
        "a READY step whose dependency was reset by hand waits for ever",
        _PLAN,
        "if not run.dependencies_succeeded(step):\n            changed.append(moves.reopened(step))",
        "if run.defect:\n            changed.append(moves.reopened(step))",
    ),
    Mutant(
        "a broken document is planned as if it were whole",
        _PLAN,
        "    if run.defect:\n        error =",
        "    if run.defect and not run.steps:\n        error =",
    ),
    Mutant(
        "the steps of a broken document are closed",
        _PLAN,
        "if run.defect or not waiting or (run.error and run.error.code == Code.FLOW_RUN_INVALID):",
        "if not waiting:",
    ),
    Mutant(
        "two steps may write one object",
        _GRAPH,
        "_cycle(steps) or _shared_object(run_id, steps)",
        "_cycle(steps)",
    ),
    Mutant(
        "a circle of dependencies is no defect",
        _GRAPH,
        "_cycle(steps) or _shared_object(run_id, steps)",
        "_shared_object(run_id, steps)",
    ),
    Mutant(
        "a manual retry keeps the failures",
        _MANUAL,
        "failures=0, lease_losses=0, nudges=0",
        "lease_losses=0, nudges=0",
    ),
    Mutant(
        "a manual retry keeps the lost leases",
        _MANUAL,
        "failures=0, lease_losses=0, nudges=0",
        "failures=0, nudges=0",
    ),
    Mutant(
        "a blocked answer of the model may be tried again by hand",
        _MANUAL,
        "(Code.INVALID_STRUCTURED_OUTPUT, Code.LLM_SAFETY_BLOCK)",
        "(Code.INVALID_STRUCTURED_OUTPUT,)",
    ),
    Mutant(
        "a manual retry leaves what was skipped because of it",
        _MANUAL,
        "wanted.with_steps(*(moves.reopened(step) for step in blocked), *changed)",
        "wanted.with_steps(*changed)",
    ),
)

_BORDERS = (
    Mutant(
        "the payload of another document is trusted",
        _EVENT,
        "snapshot if snapshot and snapshot.run_id == run_id else None",
        "snapshot",
    ),
    Mutant(
        "a log line that cannot be made costs the step",
        _LOG,
        "a log line never costs a step\n            return\n",
        "a log line never costs a step\n            raise\n",
    ),
    Mutant(
        "a secret is logged",
        _LOG,
        "MASKED if _is_secret(key) and not figure else self.passed(item, depth + 1)",
        "self.passed(item, depth + 1)",
    ),
    Mutant(
        "a wrong setting is shown with its value",
        _CONFIG,
        'raise InvalidConfig(f"{name} must be {meaning}")',
        'raise InvalidConfig(f"{name} must be {meaning}, not {value}")',
    ),
    Mutant(
        "time limits that cannot hold together are accepted",
        _BUDGET,
        "if self.provider + self.finalize > self.invocation:",
        "if self.provider > self.invocation:",
    ),
)

MUTANTS = (
    *_OPTIMISTIC_WRITES,
    *_CLAIMS,
    *_RECORDING,
    *_ARTIFACT_RULES,
    *_LEASES_AND_RETRIES,
    *_ALARM_CLOCK,
    *_RUNS,
    *_BORDERS,
)
