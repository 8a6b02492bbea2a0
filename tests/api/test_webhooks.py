"""/webhooks."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from tests.api.client import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def hooks(manage_key: str) -> Api:
    return Api(key=manage_key)


@pytest.fixture(autouse=True)
def private_addresses_allowed(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ADDRESSES = True


def test_it_shows_the_secret_once(hooks: Api) -> None:
    created = hooks.post("/webhooks", {"url": "http://127.0.0.1:9/x", "events": ["COMPACTED"]})
    assert created.status_code == 201, created.content
    body = created.json()
    assert body["secret"].startswith("whsec_")
    assert "secret" not in hooks.get(f"/webhooks/{body['id']}").json()
    assert [row["id"] for row in hooks.get("/webhooks").json()["items"]] == [body["id"]]


def test_a_change_says_which_version_it_changes(hooks: Api) -> None:
    created = hooks.post("/webhooks", {"url": "http://127.0.0.1:9/x"})
    path = f"/webhooks/{created.json()['id']}"
    assert hooks.patch(path, {"active": False}).status_code == 428
    changed = hooks.patch(path, {"active": False}, headers={"If-Match": created.headers["ETag"]})
    assert changed.json()["active"] is False
    stale = hooks.patch(path, {"active": True}, headers={"If-Match": created.headers["ETag"]})
    assert stale.status_code == 412
    assert hooks.delete(path).status_code == 204
    assert hooks.get(path).status_code == 404


def test_an_agents_key_cannot_manage_webhooks(api: Api) -> None:
    assert api.post("/webhooks", {"url": "http://127.0.0.1:9/x"}).status_code == 403


def test_another_tenants_webhook_is_not_there(hooks: Api, other_key: str) -> None:
    hook = hooks.post("/webhooks", {"url": "http://127.0.0.1:9/x"}).json()["id"]
    for answer in (
        hooks.get(f"/webhooks/{hook}", key=other_key),
        hooks.delete(f"/webhooks/{hook}", key=other_key),
        hooks.post(f"/webhooks/{hook}/test", key=other_key),
        hooks.get(f"/webhooks/{hook}/deliveries", key=other_key),
    ):
        assert answer.status_code == 404


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",  # not https
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.0.0.8/",
        "https://169.254.169.254/latest/meta-data",
        "https://0.0.0.0/",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "https://user:pass@1.1.1.1/",
        "ftp://1.1.1.1/",
        "https:///nohost",
        "javascript:alert(1)",
    ],
)
def test_it_takes_public_addresses_only(hooks: Api, settings: Settings, url: str) -> None:
    settings.ALLOW_PRIVATE_ADDRESSES = False
    answer = hooks.post("/webhooks", {"url": url})
    assert (answer.status_code, answer.json()["code"]) == (422, "address_refused")
