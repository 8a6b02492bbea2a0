"""Vocabularies: the published ones, verified at every load, never from the network."""

import lzma
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
import tiktoken_ext.openai_public as published  # type: ignore[import-untyped]

from budgets.tokens import UnknownTokenizer, VocabularyDamaged
from budgets.tokens import vocabularies as shipped

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize("name", list(shipped.VOCABULARIES))
def test_hash_pattern_and_special_tokens_are_tiktokens_own(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes: list[str] = []
    monkeypatch.setattr(
        published, "load_tiktoken_bpe", lambda url, expected_hash: hashes.append(expected_hash)
    )
    theirs, ours = published.ENCODING_CONSTRUCTORS[name](), shipped.VOCABULARIES[name]
    assert hashes == [ours.sha256]
    assert theirs["pat_str"] == ours.pattern
    assert theirs["special_tokens"] == ours.special_tokens


# What a few well-known texts cost, from OpenAI's own tokenizer page.
KNOWN = [
    ("o200k_base", "tiktoken is great!", [83, 8251, 2488, 382, 2212, 0]),
    ("cl100k_base", "tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]),
    ("cl100k_base", "hello world", [15339, 1917]),
]


@pytest.mark.parametrize(("name", "text", "tokens"), KNOWN)
def test_it_encodes_known_texts_to_their_known_tokens(name: str, text: str, tokens: list[int]) -> None:
    assert shipped.encoding(name).encode_ordinary(text) == tokens


def damaged_folder(tmp_path: Path, content: bytes | None) -> Path:
    if content is not None:
        (tmp_path / "o200k_base.tiktoken.xz").write_bytes(content)
    return tmp_path


GENUINE = shipped.VOCABULARY_FOLDER / "o200k_base.tiktoken.xz"


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"not xz at all",
        GENUINE.read_bytes()[:-1_000],
        GENUINE.read_bytes()[:500_000] + b"\0" + GENUINE.read_bytes()[500_001:],
        lzma.compress(b"IQ== 0\n"),
        (shipped.VOCABULARY_FOLDER / "cl100k_base.tiktoken.xz").read_bytes(),
    ],
    ids=["missing", "empty", "no archive", "cut off", "one byte wrong", "another file", "another vocabulary"],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, content: bytes | None) -> None:
    with pytest.raises(VocabularyDamaged, match=r"o200k_base\.tiktoken\.xz is damaged or missing") as refusal:
        shipped.read_encoding("o200k_base", damaged_folder(tmp_path, content))
    assert refusal.value.code == "vocabulary_damaged"


def test_a_vocabulary_that_is_not_shipped_is_refused() -> None:
    with pytest.raises(UnknownTokenizer, match="shipped are o200k_base, cl100k_base"):
        shipped.encoding("gpt2")


def test_loading_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a vocabulary was asked for over the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/nonexistent")
    assert shipped.read_encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]


def test_threads_that_come_first_together_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    genuine = shipped.read_encoding

    def counted_read(name: str) -> object:
        loads.append(name)
        return genuine(name)

    monkeypatch.setattr(shipped, "_loaded", {})
    monkeypatch.setattr(shipped, "read_encoding", counted_read)
    threads = [Thread(target=shipped.encoding, args=("cl100k_base",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["cl100k_base"]


def test_importing_the_package_loads_no_vocabulary() -> None:
    program = "import budgets.tokens.vocabularies as v, budgets.tokens; print(len(v._loaded))"
    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "0"


def test_both_vocabularies_together_take_less_than_100_megabytes() -> None:
    program = (
        "import budgets.tokens as t\n"
        "def rss(): return int(open('/proc/self/statm').read().split()[1]) * 4096 // 1_000_000\n"
        "before = rss(); t.load_vocabularies(); print(rss() - before)"
    )
    if not Path("/proc/self/statm").exists():
        pytest.skip("resident memory is read from /proc")
    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert int(printed.stdout) < 100
