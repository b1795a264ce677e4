"""Every other document: found by its path, created once, updated on what was read."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from flowcore.domain.patch import DELETE
from flowcore.ports import Conflict, Document, Documents

PATH = "chart_img_accounts_usage/main"


def found(documents: Documents, path: str = PATH) -> Document:
    document = documents.find(path)
    assert document is not None
    return document


def test_a_document_that_is_not_there_is_none(documents: Documents) -> None:
    assert documents.find(PATH) is None


@pytest.mark.parametrize("path", [PATH, "llm_prompts/mit Leerzeichen ü", "a/b/c/d"])
def test_a_document_is_found_where_it_was_created(documents: Documents, path: str) -> None:
    documents.create(path, {"n": 1, "deep": {"list": [1, {"x": None}]}})
    assert found(documents, path).fields == {"n": 1, "deep": {"list": [1, {"x": None}]}}


def test_a_document_is_created_once(documents: Documents) -> None:
    documents.create(PATH, {"n": 1})
    with pytest.raises(Conflict):
        documents.create(PATH, {"n": 2})
    assert found(documents).fields == {"n": 1}


def test_of_many_creators_one_wins(documents: Documents) -> None:
    def create(number: int) -> int:
        try:
            documents.create(PATH, {"n": number})
        except Conflict:
            return 0
        return 1

    with ThreadPoolExecutor(8) as creators:
        assert sum(creators.map(create, range(8))) == 1


def test_an_update_sets_the_fields_that_it_names(documents: Documents) -> None:
    documents.create(PATH, {"n": 1, "kept": True, "deep": {"a": 1, "b": 2}})
    documents.update(PATH, {"n": 2, "deep.a": 3}, found(documents).update_time)
    assert found(documents).fields == {"n": 2, "kept": True, "deep": {"a": 3, "b": 2}}


def test_an_update_can_take_a_field_away(documents: Documents) -> None:
    documents.create(PATH, {"n": 1, "deep": {"a": 1, "b": 2}})
    documents.update(PATH, {"n": DELETE, "deep.b": DELETE, "never": DELETE}, found(documents).update_time)
    assert found(documents).fields == {"deep": {"a": 1}}


def test_an_update_of_what_has_changed_is_a_conflict(documents: Documents) -> None:
    documents.create(PATH, {"n": 1})
    read = found(documents)
    documents.update(PATH, {"n": 2}, read.update_time)
    with pytest.raises(Conflict):
        documents.update(PATH, {"n": 3}, read.update_time)
    assert found(documents).fields == {"n": 2}


def test_an_update_of_what_is_gone_is_a_conflict(documents: Documents) -> None:
    documents.create(PATH, {"n": 1})
    with pytest.raises(Conflict):
        documents.update("chart_img_accounts_usage/other", {"n": 3}, found(documents).update_time)


def test_units_counted_by_many_are_all_counted(documents: Documents) -> None:
    """Read, add, write on what was read, and again when somebody was faster: nothing else is needed for a counter."""
    documents.create(PATH, {"n": 0})

    def count(_: int) -> None:
        while True:
            read = found(documents)
            used = read.fields["n"]
            assert isinstance(used, int)
            try:
                documents.update(PATH, {"n": used + 1}, read.update_time)
            except Conflict:
                continue
            return

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(count, range(12)))
    assert found(documents).fields == {"n": 12}
