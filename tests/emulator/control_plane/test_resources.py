"""What is kept: by name, under an ETag, and changed only by what really changes it."""

from typing import Any

import pytest

from emulator.control_plane.errors import Refused
from emulator.control_plane.resources import Name, Resources, patched
from emulator.history import History

SECRET = Name("secretmanager", "projects/p/secrets/s")
BINDING = {"role": "roles/viewer", "members": ["user:a@b.c"]}


@pytest.fixture
def history() -> History:
    return History()


@pytest.fixture
def resources(history: History) -> Resources:
    resources = Resources(history)
    resources.create(SECRET, {"labels": {"a": "1"}})
    return resources


def test_what_exists_is_not_created_again(resources: Resources) -> None:
    with pytest.raises(Refused, match="already exists") as refused:
        resources.create(SECRET, {})
    assert refused.value.body()["error"]["status"] == "ALREADY_EXISTS"


def test_a_change_needs_the_newest_etag(resources: Resources) -> None:
    etag = resources.etag(SECRET)
    resources.change(SECRET, lambda old: old | {"labels": {}}, etag)
    with pytest.raises(Refused, match="concurrent") as refused:
        resources.change(SECRET, lambda old: old | {"labels": {"b": "2"}}, etag)
    assert refused.value.body()["error"]["status"] == "ABORTED"
    assert resources.get(SECRET) == {"labels": {}}


def test_a_write_that_changes_nothing_is_no_change(resources: Resources, history: History) -> None:
    before = resources.etag(SECRET), resources.policy(SECRET)["etag"], len(history.since(0).records)
    resources.change(SECRET, dict)
    resources.set_policy(SECRET, resources.policy(SECRET))
    assert (resources.etag(SECRET), resources.policy(SECRET)["etag"], len(history.since(0).records)) == before


def test_of_two_who_read_a_policy_only_one_writes_it(resources: Resources) -> None:
    read = resources.policy(SECRET)
    resources.set_policy(SECRET, {**read, "bindings": [BINDING]})
    with pytest.raises(Refused, match="concurrent"):
        resources.set_policy(SECRET, {**read, "bindings": []})
    assert resources.grants(SECRET, "roles/viewer") == {"user:a@b.c"}


def test_nobody_changes_a_resource_by_the_way(resources: Resources) -> None:
    resources.get(SECRET)["labels"]["a"] = "changed"
    assert resources.get(SECRET) == {"labels": {"a": "1"}}


def test_what_is_inside_goes_with_it(resources: Resources) -> None:
    version = Name("secretmanager", f"{SECRET}/versions/1")
    resources.create(version, {})
    resources.delete(SECRET)
    assert resources.find(version) is None


@pytest.mark.parametrize(
    ("wish", "mask", "after"),
    [
        ({"a": 2, "d": 4}, None, {"a": 2, "b": {"c": 3}, "d": 4}),
        ({"a": 2, "d": 4}, "d", {"a": 1, "b": {"c": 3}, "d": 4}),
        ({}, "a", {"b": {"c": 3}}),
        ({"b": {"e": 5}}, "b.e", {"a": 1, "b": {"c": 3, "e": 5}}),
        ({"deadLetter": 6}, "dead_letter", {"a": 1, "b": {"c": 3}, "deadLetter": 6}),
    ],
    ids=[
        "no mask: all that is said",
        "only what the mask names",
        "named and not said: removed",
        "inside",
        "snake case",
    ],
)
def test_a_patch_changes_what_its_mask_names(wish: dict[str, Any], mask: str | None, after: dict[str, Any]) -> None:
    assert patched({"a": 1, "b": {"c": 3}}, wish, mask) == after
