"""A run for a caller: from a flow's definition, parameters and an idempotency key.

The run's id follows from the key, and a document is created only once. So the same key is the same run, however often
it is asked for and whoever loses a reply; what was asked stands in the run, so another wish under the same key is
recognised and refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowcore.contracts.flows import FLOW_KEY, instantiate
from flowcore.domain.artifacts import canonical_json, sha256
from flowcore.domain.errors import Code, DataNotFoundError, NetworkError, StepFailed, ValidationError, shown
from flowcore.domain.retry import POLICIES
from flowcore.engine.patience import Patience
from flowcore.ports import Chance, Clock, Conflict, Document, Documents, Log

DEFINITIONS = "flow_definitions"


@dataclass(frozen=True, slots=True)
class StartRequest:
    flow_key: str
    parameters: Mapping[str, object]
    idempotency_key: str
    trigger: Mapping[str, str]

    @property
    def run_id(self) -> str:
        return f"{self.flow_key}_{sha256(self.idempotency_key.encode())[:20]}"

    @property
    def wish(self) -> str:
        """What is asked for, as a hash: who asks, and when, makes no difference."""
        return sha256(canonical_json({"flowKey": self.flow_key, "parameters": self.parameters}))


@dataclass(frozen=True, slots=True)
class Started:
    run_id: str
    created: bool


@dataclass(frozen=True, slots=True)
class Start:
    documents: Documents
    runs_collection: str
    clock: Clock
    chance: Chance
    log: Log
    seconds: float  # how long one invocation may take

    def handle(self, request: StartRequest) -> Started:
        if not FLOW_KEY.fullmatch(request.flow_key):
            raise ValidationError(Code.INVALID_REQUEST, f"flowKey: {shown(request.flow_key)} is not the name of a flow")
        patience = Patience(POLICIES["firestore"], self.clock, self.chance, ends=self.clock.monotonic() + self.seconds)
        path = f"{self.runs_collection}/{request.run_id}"
        there = patience.persist(lambda timeout: self.documents.find(path, timeout))
        if there is None:
            there = self._create(path, request, patience)
        if there is not None:
            return self._the_same(request, there)
        self.log.info("run_started", run_id=request.run_id, flow_key=request.flow_key)
        return Started(request.run_id, created=True)

    def _create(self, path: str, request: StartRequest, patience: Patience) -> Document | None:
        """Returns what was there already, if somebody was faster; it may have been ourselves, with a lost reply."""
        run = {**self._run(request, patience), "requestSha256": request.wish}
        try:
            patience.persist(lambda timeout: self.documents.create(path, run, timeout))
        except Conflict:
            there = patience.persist(lambda timeout: self.documents.find(path, timeout))
            if there is None:
                raise NetworkError(
                    Code.FIRESTORE_UNAVAILABLE, f"{path} was there a moment ago and is gone; ask again"
                ) from None
            return there
        return None

    def _run(self, request: StartRequest, patience: Patience) -> dict[str, object]:
        path = f"{DEFINITIONS}/{request.flow_key}"
        definition = patience.persist(lambda timeout: self.documents.find(path, timeout))
        if definition is None:
            raise DataNotFoundError(Code.FLOW_NOT_FOUND, f"{path} does not exist; `flow seed` brings the flows along")
        return instantiate(
            {**definition.fields, "flowKey": request.flow_key},
            request.parameters,
            run_id=request.run_id,
            now=self.clock.now(),
            trigger=request.trigger,
        )

    def _the_same(self, request: StartRequest, there: Document) -> Started:
        if there.fields.get("requestSha256") != request.wish:
            raise StepFailed(
                Code.IDEMPOTENCY_PAYLOAD_MISMATCH,
                f"{request.run_id} was started with this idempotency key and another flow or other parameters",
                details={"runId": request.run_id},
            )
        self.log.info("run_known", run_id=request.run_id, flow_key=request.flow_key)
        return Started(request.run_id, created=False)
