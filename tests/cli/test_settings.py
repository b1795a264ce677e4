"""`--set`: what is typed becomes what the flow's parameter takes."""

import pytest

from flowcore.cli.settings import settings
from tests.cli.conftest import Desk
from tests.cli.typing_it import typed


@pytest.mark.parametrize(
    ("about", "text", "value"),
    [
        ({"default": "BTCUSDT"}, "123", "123"),
        ({"default": "BTCUSDT"}, "true", "true"),
        ({"default": ""}, "", ""),
        ({"default": "a"}, "b=c", "b=c"),
        ({"default": ["1M"]}, '["1d", "4h"]', ["1d", "4h"]),
        ({"default": ["1M"]}, "1d, 15", ["1d", "15"]),
        ({"default": ["1M"]}, "15", ["15"]),
        ({"default": [1]}, "[2, 3]", [2, 3]),
        ({"default": 1}, "2", 2),
        ({"default": 1.5}, "2", 2.0),
        ({"default": False}, "true", True),
        ({"default": {}}, '{"a": 1}', {"a": 1}),
        ({"pattern": "[0-9]+"}, "123", "123"),
        ({"pattern": "[0-9]+"}, '["1", "2"]', ["1", "2"]),
        ({}, "123", 123),
        ({}, "ETHUSDT", "ETHUSDT"),
        ({}, "[" * 100_000, "[" * 100_000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_has_the_type_of_its_parameter(about: dict[str, object], text: str, value: object) -> None:
    found = settings([f"x={text}"], {"parameters": {"x": about}})
    assert found == {"x": value}
    assert type(found["x"]) is type(value)


def test_scope_may_be_said_and_unknown_names_are_kept() -> None:
    definition = {"parameters": {"symbol": {"default": "A"}}}
    assert settings(["scope.symbol=1", "other=2"], definition) == {"symbol": "1", "other": 2}


def test_a_definition_without_parameters_is_none_of_its_business() -> None:
    assert settings(["a=1"], {"parameters": [], "steps": {}}) == {"a": 1}


def test_a_symbol_of_digits_stays_a_text(desk: Desk) -> None:
    desk.db.document("flow_definitions/tea_v1").set(
        {"parameters": {"symbol": {"default": "X"}}, "steps": {"boil": {"stepType": "BOIL"}}}
    )
    assert typed("run", "tea_v1", "--id", "r1", "--set", "symbol=123").code == 0
    assert desk.run("r1")["scope"] == {"symbol": "123"}
