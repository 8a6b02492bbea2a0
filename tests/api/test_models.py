"""/models: the catalogue, overrides beside it, aliases and prices."""

from __future__ import annotations

from typing import Any

import pytest

from budgets.models import ModelOverride, ModelPrice
from tests.api.client import Api

PRICE = {"name": "own", "input_usd_per_mtok": "3", "output_usd_per_mtok": "15.5"}


@pytest.fixture
def manage(manage_key: str) -> Api:
    return Api(key=manage_key)


def card(api: Api, name: str) -> dict[str, Any]:
    body: dict[str, Any] = api.get(f"/models?name={name}").json()
    return body


def test_a_known_model_has_its_card(api: Api) -> None:
    body = card(api, "gpt-4")
    assert (body["context_window"], body["source"], body["tokenizer"]) == (8192, "catalogue", "cl100k_base")
    assert body["price"]["input_usd_per_mtok"] == "30"
    assert body["override"] is None


def test_a_name_with_a_slash_travels_in_the_query(api: Api) -> None:
    assert card(api, "meta-llama/llama-3.1-70b")["context_window"] == 131_072


def test_an_unknown_model_says_so_and_is_unpriced(api: Api) -> None:
    body = card(api, "nobody-knows-it")
    assert (body["context_window"], body["source"]) == (32_000, "fallback")
    assert (body["price"], body["catalogue"]) == ("unpriced", None)


def test_models_are_listed_in_pages_and_found_by_a_part_of_the_name(api: Api) -> None:
    first = api.get("/models?limit=3&q=gpt-4").json()
    names = [item["name"] for item in first["items"]]
    following = api.get(f"/models?limit=3&q=gpt-4&cursor={first['next']}").json()
    names += [item["name"] for item in following["items"]]
    assert len(set(names)) == 6
    assert names == sorted(names)
    assert all("gpt-4" in name for name in names)


def test_an_override_stands_beside_the_original(manage: Api) -> None:
    answer = manage.post("/models/override", {"name": "gpt-4", "context_window": 9000})
    assert answer.status_code == 201
    body = card(manage, "gpt-4")
    assert body == answer.json()
    assert (body["context_window"], body["source"]) == (9000, "override")
    assert (body["override"]["context_window"], body["override"]["set_by"]) == (9000, "project")
    assert body["catalogue"]["context_window"] == 8192


def test_the_projects_own_model_is_in_its_list(manage: Api) -> None:
    manage.post("/models/override", {"name": "our-model", "context_window": 500, "tokenizer": "o200k_base"})
    (item,) = manage.get("/models?q=our-mod").json()["items"]
    assert (item["name"], item["context_window"], item["tokenizer"]) == ("our-model", 500, "o200k_base")


def test_a_second_word_about_a_model_says_which_it_replaces(manage: Api) -> None:
    first = manage.post("/models/override", {"name": "own", "context_window": 500})
    blind = manage.post("/models/override", {"name": "own", "context_window": 600})
    assert blind.status_code == 428
    stale = manage.post("/models/alias", {"name": "own", "alias_of": "gpt-4"}, headers={"If-Match": '"x"'})
    assert stale.status_code == 412
    etag = {"If-Match": first.headers["ETag"]}
    assert (
        manage.post("/models/override", {"name": "own", "context_window": 600}, headers=etag).status_code
        == 201
    )
    assert card(manage, "own")["context_window"] == 600
    assert ModelOverride.objects.count() == 2


def test_an_alias_stands_for_its_model(manage: Api) -> None:
    body = manage.post("/models/alias", {"name": "house", "alias_of": "gpt-4-0613"}).json()
    assert (body["canonical_name"], body["context_window"]) == ("gpt-4", 8192)
    calculated = manage.post("/budgets/calculate", {"model": "house"}).json()
    assert calculated["total"] == 6553


def test_a_circle_of_aliases_is_refused(manage: Api) -> None:
    manage.post("/models/alias", {"name": "a", "alias_of": "b"})
    answer = manage.post("/models/alias", {"name": "b", "alias_of": "a"})
    assert (answer.status_code, answer.json()["code"]) == (422, "alias_circle")


def test_a_price_is_exact_and_listed(manage: Api) -> None:
    tier = {"above_tokens": 200_000, "input_usd_per_mtok": "0.000001"}
    answer = manage.post("/models/prices", {**PRICE, "tiers": [tier], "cache_read_usd_per_mtok": "0.3"})
    assert answer.status_code == 201
    row = ModelPrice.objects.get()
    assert (row.input_pico, row.output_pico, row.cache_read_pico) == (3_000_000, 15_500_000, 300_000)
    assert row.tiers[0]["input_pico"] == 1
    price = card(manage, "own")["price"]
    assert (price["output_usd_per_mtok"], price["cache_read_usd_per_mtok"]) == ("15.5", "0.3")
    assert price["tiers"][0]["input_usd_per_mtok"] == "0.000001"
    assert manage.get("/models/prices?name=own").json()["items"] == [answer.json()]
    assert manage.get("/models/prices?name=other").json()["items"] == []


def test_prices_are_listed_newest_first_in_pages(manage: Api) -> None:
    for dollars in ("1", "2", "3"):
        manage.post("/models/prices", {**PRICE, "input_usd_per_mtok": dollars})
    first = manage.get("/models/prices?limit=2").json()
    rest = manage.get(f"/models/prices?limit=2&cursor={first['next']}").json()
    listed = [item["input_usd_per_mtok"] for item in first["items"] + rest["items"]]
    assert (listed, rest["next"]) == (["3", "2", "1"], None)


@pytest.mark.parametrize(
    "amount",
    ["-1", "NaN", "Infinity", "1_000", " 12 ", "1e3", "", "0.0000001", "100001", "9" * 5000, "٣", 3, 3.0],
)
def test_an_odd_price_is_refused(manage: Api, amount: Any) -> None:
    answer = manage.post("/models/prices", {**PRICE, "input_usd_per_mtok": amount})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/input_usd_per_mtok"


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-01-01T00:00:00",
        "2026-01-01",
        "2026-02-30T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        1_700_000_000,
        "now",
    ],
)
def test_an_odd_moment_is_refused(manage: Api, moment: Any) -> None:
    answer = manage.post("/models/prices", {**PRICE, "valid_from": moment})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/valid_from"


def test_a_price_of_tomorrow_does_not_hold_today(manage: Api) -> None:
    manage.post("/models/prices", {**PRICE, "valid_from": "2199-01-01T00:00:00+02:00"})
    assert card(manage, "own")["price"] == "unpriced"
    (item,) = manage.get("/models/prices").json()["items"]
    assert item["valid_from"] == "2198-12-31T22:00:00Z"


@pytest.mark.parametrize(
    "body",
    [
        {"name": "own", "context_window": 0},
        {"name": "own", "context_window": 2**63},
        {"name": "own", "max_output": True},
        {"name": "own", "tokenizer": "abacus"},
        {"name": "", "context_window": 5},
        {"name": "x" * 201, "context_window": 5},
        {"name": "a\x00b", "context_window": 5},
        {"name": "\udfff", "context_window": 5},
        {"name": "own", "price": "1"},
    ],
)
def test_an_odd_override_is_refused(manage: Api, body: dict[str, Any]) -> None:
    assert manage.post("/models/override", body).status_code == 422
    assert not ModelOverride.objects.exists()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/models/override", {"name": "own", "context_window": 5}),
        ("/models/alias", {"name": "own", "alias_of": "gpt-4"}),
        ("/models/prices", PRICE),
    ],
)
def test_changing_needs_the_scope_manage(api: Api, read_key: str, path: str, body: dict[str, Any]) -> None:
    for key in (api.key, read_key):
        answer = api.post(path, body, key=key)
        assert (answer.status_code, answer.json()["required_scope"]) == (403, "manage")


def test_a_retried_price_is_set_once(manage: Api) -> None:
    for _ in range(3):
        assert manage.post("/models/prices", PRICE, headers={"Idempotency-Key": "k"}).status_code == 201
    assert ModelPrice.objects.count() == 1
