"""What it says: about the data it was sent, in the shape that was asked for, with a bill."""

import json
from typing import Any

import pytest
import requests
from google import genai
from google.genai import errors
from google.genai.types import FinishReason, HttpOptions, Part
from jsonschema import Draft202012Validator

from emulator.gemini import GeminiServer
from tests.emulator.gemini.asking import MODEL, REPORT, answered, ask, rows
from tests.emulator.gemini.conftest import KEY

# --- about the data ---------------------------------------------------------------------------------------


def test_answer_is_about_the_candles_in_the_prompt(client: genai.Client) -> None:
    told = answered(client, f"Symbol: BTCUSDT\nCandles: {json.dumps(rows(+1))}")
    assert told["trend"] == "bullish"
    assert "BTCUSDT" in told["summary"]
    assert "rising from 101 to 140" in told["summary"]
    assert told["support"] == 118
    assert told["levels"] == [118, 129.5]


@pytest.mark.parametrize(("step", "trend"), [(+1, "bullish"), (-1, "bearish"), (0, "neutral")])
def test_other_candles_give_another_answer(client: genai.Client, step: float, trend: str) -> None:
    assert answered(client, json.dumps(rows(step)))["trend"] == trend


CANDLES = rows(+1, count=12)
SPELLINGS = {
    "objects": json.dumps(CANDLES),
    "objects in a document": json.dumps({"meta": {"symbol": "X"}, "data": {"candles": CANDLES}}),
    "short names": json.dumps([{name[0]: value for name, value in row.items()} for row in CANDLES]),
    "text numbers": json.dumps([{name: str(value) for name, value in row.items()} for row in CANDLES]),
    "rows with time and volume": json.dumps([[1700000000 + i, *row.values(), 5] for i, row in enumerate(CANDLES)]),
    "bare rows": json.dumps([list(row.values()) for row in CANDLES]),
    "columns": json.dumps({name: [row[name] for row in CANDLES] for name in CANDLES[0]}),
    "csv": "time,open,high,low,close\n"
    + "\n".join(f"{i},{','.join(map(str, r.values()))}" for i, r in enumerate(CANDLES)),
    "table": "| Open | High | Low | Close |\n|---|---|---|---|\n"
    + "\n".join(f"| {' | '.join(map(str, row.values()))} |" for row in CANDLES),
    "in the middle of words": f"See [the chart] {{below}}: {json.dumps(CANDLES)} and answer [in JSON].",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_candles_are_found_however_they_are_spelled(client: genai.Client, text: str) -> None:
    assert "rising from 101 to 112" in answered(client, text)["summary"]


def test_prompt_without_candles_is_told_so(client: genai.Client) -> None:
    told = answered(client, "Write a poem about [1, 2, 3] sheep.")
    assert "no candles" in told["summary"]
    assert "Write a poem about" in told["summary"]


def test_without_a_schema_the_answer_is_markdown(client: genai.Client) -> None:
    assert (ask(client, json.dumps(rows(-1))).text or "").startswith("## The market: falling from")


def test_same_prompt_gives_the_same_words(client: genai.Client) -> None:
    prompt = json.dumps(rows(+1))
    assert answered(client, prompt) == answered(client, prompt)


# --- in the shape that was asked for ----------------------------------------------------------------------

TREE = {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/tree"}}}
SCHEMAS: dict[str, Any] = {
    "report": REPORT,
    "nested": {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "array", "items": REPORT}}, "required": ["b"]}
        },
        "required": ["a"],
    },
    "references": {
        "$defs": {"level": {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}},
        "type": "object",
        "properties": {"levels": {"type": "array", "items": {"$ref": "#/$defs/level"}, "minItems": 3}},
        "required": ["levels"],
    },
    "optional recursion": {"$defs": {"tree": TREE}, **TREE, "required": ["name"]},
    "recursion that may end in nothing": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["next"],
            }
        },
        "$ref": "#/$defs/node",
    },
    "recursion in a list": {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["children"],
    },
    "nullable": {"type": "object", "properties": {"a": {"type": ["null", "integer"]}}, "required": ["a"]},
    "any of": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"x": {"const": 7}}, "required": ["x"]}]},
    "one of": {"oneOf": [{"type": "string", "maxLength": 5}, {"type": "integer"}]},
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    },
    "limits": {
        "type": "object",
        "properties": {
            "short": {"type": "string", "maxLength": 3},
            "long": {"type": "string", "minLength": 5_000},
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "colour": {"type": "string", "pattern": "^#[0-9a-f]{6}$"},
            "version": {"type": "string", "pattern": r"^(v|ver)\d+(\.\d+)*$", "minLength": 8},
            "odd": {"type": "string", "pattern": r"^[^\w\s]\S\D?$"},
            "day": {"type": "string", "format": "date"},
            "tiny": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
            "even": {"type": "integer", "multipleOf": 2, "minimum": 3, "maximum": 7},
            "percent": {"type": "integer", "minimum": 0, "maximum": 100},
            "below": {"type": "number", "maximum": -5},
            "above": {"type": "integer", "exclusiveMinimum": 1_000_000},
        },
        "required": [
            "short",
            "long",
            "code",
            "colour",
            "version",
            "odd",
            "day",
            "tiny",
            "even",
            "percent",
            "below",
            "above",
        ],
    },
    "lists": {
        "type": "object",
        "properties": {
            "none": {"type": "array", "maxItems": 0},
            "many": {"type": "array", "items": {"type": "string"}, "minItems": 9, "uniqueItems": True},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": False},
        },
        "required": ["none", "many", "pair"],
    },
    "map": {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 2},
    "required without properties": {"type": "object", "required": ["anything"]},
    "bare value": {"type": "boolean"},
    "anything": {},
    "numbers to choose from": {"type": "integer", "enum": [1, 2, 3]},
    "each word once": {"type": "array", "items": {"enum": ["up", "down", "flat"]}, "minItems": 3, "uniqueItems": True},
    "all of nothing in particular": {"allOf": [{}, True, {"type": "integer"}]},
    "at most each word once": {"type": "array", "items": {"enum": ["up"]}, "uniqueItems": True},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("prompt", [json.dumps(rows(+1)), "no data"], ids=["candles", "none"])
def test_answer_is_an_instance_of_any_schema(client: genai.Client, schema: Any, prompt: str) -> None:
    Draft202012Validator(schema).validate(
        json.loads(ask(client, prompt, schema or {"description": "anything"}).text or "")
    )


def test_older_schema_of_the_sdk_is_understood_too(client: genai.Client) -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "trend": {"type": "STRING", "enum": ["up", "down"]},
            "price": {"type": "NUMBER", "nullable": True},
            "notes": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "3"},
        },
        "required": ["trend", "price", "notes"],
    }
    config = {"response_mime_type": "application/json", "response_schema": schema}
    told = json.loads(ask(client, json.dumps(rows(-1)), **config).text or "")
    assert (told["trend"], len(told["notes"])) == ("down", 3)


# --- with a bill ------------------------------------------------------------------------------------------


def test_answer_tells_what_it_cost_and_who_spoke(client: genai.Client) -> None:
    image = Part.from_bytes(data=b"\x89PNG\r\n", mime_type="image/png")
    told = ask(client, ["x" * 400, image], system_instruction="y" * 40, model="gemini-flash-latest")
    usage = told.usage_metadata
    assert usage
    assert usage.prompt_token_count == 100 + 10 + 258
    assert usage.candidates_token_count == -(-len(told.text or "") // 4)
    assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count
    assert told.model_version == "gemini-3.8-flash"
    assert told.response_id != ask(client, "x").response_id
    assert told.candidates
    assert told.candidates[0].finish_reason == FinishReason.STOP


def test_limit_of_the_caller_cuts_the_answer(client: genai.Client) -> None:
    told = ask(client, "hello", max_output_tokens=5)
    assert told.candidates
    assert (told.text, told.candidates[0].finish_reason) == ("## No candles\n\nThe p", FinishReason.MAX_TOKENS)


def test_stream_adds_up_to_the_answer(client: genai.Client) -> None:
    pieces = list(client.models.generate_content_stream(model=MODEL, contents=json.dumps(rows(+1))))
    assert len(pieces) > 2
    assert "".join(piece.text or "" for piece in pieces) == ask(client, json.dumps(rows(+1))).text
    endings = [candidate.finish_reason for piece in pieces for candidate in piece.candidates or []]
    assert endings == [None] * (len(pieces) - 1) + [FinishReason.STOP]


def test_tokens_are_counted_and_models_are_listed(client: genai.Client) -> None:
    assert client.models.count_tokens(model=MODEL, contents="x" * 40).total_tokens == 10
    assert f"models/{MODEL}" in [model.name for model in client.models.list()]
    assert client.models.get(model=MODEL).name == f"models/{MODEL}"


@pytest.mark.parametrize("version", ["v1", "v1beta"])
@pytest.mark.parametrize(
    "body",
    [
        {
            "contents": [{"parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}]}],
            "systemInstruction": {"parts": [{"text": "b"}]},
            "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": REPORT},
        },
        {
            "contents": [{"parts": [{"text": "a"}, {"inline_data": {"mime_type": "image/png", "data": "iVBO"}}]}],
            "system_instruction": {"parts": [{"text": "b"}]},
            "generation_config": {"response_mime_type": "application/json", "response_json_schema": REPORT},
        },
    ],
    ids=["camel", "snake"],
)
def test_both_versions_take_both_spellings(server: GeminiServer, version: str, body: dict[str, Any]) -> None:
    url = f"{server.url}/{version}/models/{MODEL}:generateContent?key={KEY}"
    told = requests.post(url, json=body, timeout=10).json()
    Draft202012Validator(REPORT).validate(json.loads(told["candidates"][0]["content"]["parts"][0]["text"]))
    assert told["usageMetadata"]["promptTokenCount"] == 260


# --- by script --------------------------------------------------------------------------------------------


def test_script_speaks_on_its_cue(server: GeminiServer, client: genai.Client) -> None:
    server.script.say({"trend": "neutral"}, when="BTC")
    server.script.say("plain words", times=2)
    server.script.say(lambda prompt: prompt.text.upper(), times=None)
    assert [ask(client, text).text for text in ("eth", "eth", "btc BTC", "eth", "eth")] == [
        "plain words",
        "plain words",
        '{"trend": "neutral"}',
        "ETH",
        "ETH",
    ]


def test_script_is_written_by_http(server: GeminiServer, client: genai.Client) -> None:
    requests.post(f"{server.url}/__script", json={"say": {"a": 1}, "times": None}, timeout=10)
    assert ask(client, "hello").text == '{"a": 1}'
    requests.delete(f"{server.url}/__script", timeout=10)
    assert ask(client, "hello").text != '{"a": 1}'


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"when": "x"}'])
def test_a_line_of_the_script_that_makes_no_sense_is_refused(server: GeminiServer, body: bytes) -> None:
    reply = requests.post(f"{server.url}/__script", data=body, timeout=10)
    assert (reply.status_code, reply.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


# --- refusals ---------------------------------------------------------------------------------------------


def test_unknown_model_is_not_found(client: genai.Client) -> None:
    with pytest.raises(errors.ClientError, match="models/gemini-99 is not found for API version v1") as caught:
        ask(client, "hello", model="gemini-99")
    assert (caught.value.code, caught.value.status) == (404, "NOT_FOUND")


def test_unknown_method_is_not_found(server: GeminiServer) -> None:
    for version in ("v1", "v1beta"):
        url = f"{server.url}/{version}/models/{MODEL}:embedContent?key={KEY}"
        reply = requests.post(url, json={}, timeout=10)
        assert reply.status_code == 404
        words = f"is not found for API version {version}, or is not supported for embedContent"
        assert words in reply.json()["error"]["message"]


def test_wrong_key_is_not_valid(server: GeminiServer) -> None:
    stranger = genai.Client(api_key="wrong", http_options=HttpOptions(base_url=server.url))
    with pytest.raises(errors.ClientError, match="API key not valid") as caught:
        ask(stranger, "hello")
    assert caught.value.code == 400
    assert caught.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    stranger.close()
    reply = requests.post(f"{server.url}/v1/models/{MODEL}:generateContent", json={}, timeout=10)
    assert (reply.status_code, reply.json()["error"]["status"]) == (403, "PERMISSION_DENIED")


def deep(levels: int) -> dict[str, Any]:
    return {"type": "array", "items": deep(levels - 1), "minItems": 1} if levels else {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strnig"}, "strnig"),
        ({"type": "object", "properties": []}, "is not of type 'object'"),
        ({"$ref": "#/$defs/none"}, "points nowhere"),
        ({"$ref": "https://example.com/schema"}, "outside of the schema"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "contains itself"),
        ({"type": "string", "pattern": "^(?=.*z9)[a-z0-9]{17}$"}, "nothing was found that matches"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "not supported"),
        ({"enum": []}, "allows nothing"),
        ({"allOf": [False]}, "allows nothing"),
        ({"type": "array", "items": {"enum": [1]}, "minItems": 2, "uniqueItems": True}, "allows nothing"),
        (deep(40), "nested too deeply"),
    ],
)
def test_unsupported_schema_is_an_invalid_argument(client: genai.Client, schema: Any, words: str) -> None:
    with pytest.raises(errors.ClientError, match=words) as caught:
        ask(client, "hello", schema)
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "body",
    [
        b"{not json",
        b"[]",
        b"{}",
        b'{"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "???"}}]}]}',
        b'{"contents": [{"parts": [{"inlineData": {"data": "iVBO"}}]}]}',
        b'{"contents": [{"parts": [{"text": "a"}]}], "generationConfig": {"responseMimeType": "image/png"}}',
        b'{"contents": [{"parts": [{"text": "a"}]}], "generationConfig": {"responseJsonSchema": {"type": "object"}}}',
    ],
)
def test_nonsense_is_an_invalid_argument(server: GeminiServer, body: bytes) -> None:
    url = f"{server.url}/v1/models/{MODEL}:generateContent?key={KEY}"
    reply = requests.post(url, data=body, timeout=10)
    assert (reply.status_code, reply.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
