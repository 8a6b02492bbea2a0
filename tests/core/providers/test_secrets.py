"""Keys, addresses and card numbers are masked, quickly, and nothing else is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.secrets import mask_secrets, passes_luhn

# Made up for this test; the halves are joined here so that no scanner takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7nP9"
SECRETS = [
    ("aws_access_key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("aws_access_key", "ASIA" + "Y34FZKBOKMUTVV7A"),
    ("aws_secret_key", "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("github_token", "ghp_" + LETTERS[:36]),
    ("github_token", "gho_" + LETTERS[:36]),
    ("github_token", "github_pat_" + LETTERS[:22] + "_" + LETTERS),
    ("gitlab_token", "glpat-" + LETTERS[:20]),
    ("api_key", "sk-" + LETTERS),
    ("api_key", "sk-proj-" + LETTERS),
    ("api_key", "sk-ant-api03-" + LETTERS + "-AA"),
    ("stripe_key", "sk_live_" + LETTERS[:24]),
    ("slack_token", "xoxb-" + "123456789012-" + LETTERS[:24]),
    ("slack_token", "xapp-" + "1-A0123-" + LETTERS[:24]),
    ("slack_webhook", "hooks.slack.com/services/" + "T00000000/B00000000/" + LETTERS[:24]),
    ("google_key", "AIza" + LETTERS[:35]),
    ("google_key", "ya29." + LETTERS),
    ("huggingface_token", "hf_" + LETTERS[:34]),
    ("npm_token", "npm_" + LETTERS[:36]),
    ("ctxbudget_key", "ctxb_" + LETTERS[:32]),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + LETTERS),
    ("bearer_token", "Bearer " + LETTERS),
    ("url_password", "ada:pa55word"),
    ("email", "ada.lovelace+test@mail.example.co.uk"),
    ("card_number", "4111 1111 1111 1111"),
    ("card_number", "5500-0055-5555-5559"),
    ("card_number", "2223003122003222"),
    ("card_number", "378282246310005"),
    ("card_number", "3782 822463 10005"),
    ("card_number", "30569309025904"),
    ("card_number", "6011111111111117"),
    ("private_key", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"),
    (
        "private_key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNzaC1rZXk\\n-----END OPENSSH PRIVATE KEY-----",
    ),
    ("private_key", "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA"),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_secret_is_masked_wherever_it_stands(kind: str, secret: str) -> None:
    around = ("see postgres://", "@db/x") if kind == "url_password" else ("key: '", "', done.")
    text = f"{around[0]}{secret}{around[1]}"
    masked, findings = mask_secrets(text)
    assert secret not in masked
    assert [found.kind for found in findings] == [kind]
    assert masked.startswith(around[0]) and masked.endswith(around[1])
    assert secret.startswith(text[findings[0].start : findings[0].end]) or secret in text[findings[0].start :]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk-learn-pipeline-with-a-very-long-name-indeed",
        "task-0123456789012345678901234567890",
        "4111 1111 1111 1112 fails its check digit",
        "order 1234567890123456",
        "version 1.2.3@latest, a@b, user@localhost, @decorator",
        "from 2025-11-17T21:30:28.664Z to 2025-11-18",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "uuid 93a9705e-bc6a-406d-8dce-8acc014dedbd",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "http://localhost:8000/path, ratio 10:20@30",
        "the bearer of bad news",
        "msg_011VYEWKkPNPRmKxAJeLT2jQ toolu_017qi6cZcBasF4SX1qvFjE2b req_011CRHA3FkiUoJRZqSjN67by",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask_secrets(text) == (text, ())


def test_overlapping_finds_become_one() -> None:
    text = "Authorization: Bearer sk-ant-api03-" + LETTERS
    masked, findings = mask_secrets(text)
    assert masked == "Authorization: [masked bearer_token]"
    assert len(findings) == 1


def test_several_finds_keep_their_order_and_the_text_between() -> None:
    masked, findings = mask_secrets("a@b.org then 4111111111111111 then c@d.org")
    assert masked == "[masked email] then [masked card_number] then [masked email]"
    assert [found.kind for found in findings] == ["email", "card_number", "email"]


def test_a_card_number_is_found_between_other_numbers() -> None:
    assert mask_secrets("12 4111 1111 1111 1111 123")[0] == "12 [masked card_number] 123"


def test_a_long_run_of_text_after_an_unclosed_key_is_kept() -> None:
    masked, _ = mask_secrets("-----BEGIN PRIVATE KEY-----\nMIIE\n(and so on, as usual)")
    assert masked == "[masked private_key](and so on, as usual)"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([secret for _, secret in SECRETS] + ["\n", "x", "@", "-", "é", "\ud800", "1"]))
)
def test_masking_twice_changes_nothing_more(parts: list[str]) -> None:
    masked, findings = mask_secrets(" ".join(parts))
    assert mask_secrets(masked) == (masked, ())
    assert all(secret not in masked for kind, secret in SECRETS if kind != "url_password")
    places = [(found.start, found.end) for found in findings]
    assert places == sorted(places) and all(start < end for start, end in places)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "^",
        "@",
        "a@",
        "a@a.",
        "a.",
        "1",
        "1 ",
        "4111 ",
        "4111-",
        "eyJ",
        "eyJaaaaaaaa.",
        "sk-",
        "sk-1",
        "ghp_",
        "AKIA",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "://a:",
        "://a:b",
        "Bearer ",
        "xoxb-",
        "aws_secret_key=",
        "-",
    ],
)
def test_a_million_characters_take_less_than_a_second(unit: str) -> None:
    text = (unit * (1_048_576 // len(unit) + 1))[:1_048_576]
    started = time.process_time()
    mask_secrets(text)
    assert time.process_time() - started < 1


def test_luhn() -> None:
    assert passes_luhn("79927398713") and not passes_luhn("79927398710")
