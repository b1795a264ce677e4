"""Settings are taken as they are, or not at all."""

import pytest

from flowcore.domain.errors import ConfigurationError
from functions.worker_llm_report.profile import read_profile
from tests.functions.llm_report.scene import MODEL, PROFILE, profile

SETTINGS = {
    "temperature": 0,
    "topP": 0.5,
    "topK": 3,
    "maxOutputTokens": 900,
    "stopSequences": ["END"],
    "thinkingConfig": {"includeThoughts": False, "thinkingLevel": "LOW"},
}


def test_every_setting_is_sent_as_it_was_written() -> None:
    sent = read_profile(profile(**SETTINGS), ()).settings()
    assert sent == {**SETTINGS, "candidateCount": 1, "responseMimeType": "application/json"}


def test_what_a_profile_does_not_say_is_not_sent() -> None:
    assert read_profile(PROFILE, ()).settings() == {"candidateCount": 1, "responseMimeType": "application/json"}


def test_one_candidate_is_asked_for_even_if_nobody_said_so() -> None:
    assert read_profile(profile(candidateCount=None), ()).settings()["candidateCount"] == 1


def test_a_schema_of_the_profiles_own_is_passed_over() -> None:
    sent = read_profile(profile(responseSchema={"type": "STRING"}, jsonSchema={"type": "string"}), ()).settings()
    assert sent.keys() == {"candidateCount", "responseMimeType"}


@pytest.mark.parametrize("name", [MODEL, f"models/{MODEL}"])
def test_the_model_may_be_called_by_its_older_field_and_its_longer_name(name: str) -> None:
    assert read_profile(profile(modelName=None, model=name), {MODEL}).model_name == name


def test_two_models_are_one_too_many() -> None:
    with pytest.raises(ConfigurationError, match=r"llmProfile\.model: "):
        read_profile(profile(model="gemini-3.5-flash-lite"), ())


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (profile(structuredOutput={"schemaId": "llm_report_output_v1", "kind": "OTHER"}), "structuredOutput.kind"),
        (profile(modelName="../../files/x"), "modelName"),
        (profile(modelName="m?key=x"), "modelName"),
        (profile(temperatur=0.2), "temperatur"),
        (profile(maxOutputTokens=0), "maxOutputTokens"),
        (profile(topK=-1), "topK"),
        (profile(thinkingConfig={"thinkingBudget": 1}), "thinkingConfig.thinkingBudget"),
    ],
)
def test_a_mistake_is_told_with_its_place(given: object, place: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^inputs\.llm\.llmProfile\.{place}: "):
        read_profile(given, ())


@pytest.mark.parametrize("given", [None, "gemini", 3, []])
def test_a_profile_is_a_map(given: object) -> None:
    with pytest.raises(ConfigurationError, match="is no map of settings"):
        read_profile(given, ())


@pytest.mark.parametrize("value", [True, "1", 1.5])
def test_nothing_is_converted(value: object) -> None:
    with pytest.raises(ConfigurationError, match="maxOutputTokens"):
        read_profile(profile(maxOutputTokens=value), ())


def test_a_message_does_not_quote_the_profile() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_profile(profile(thinkingConfig={"thinkingLevel": "zebra in the prompt"}), ())
    assert "zebra" not in str(refused.value)
