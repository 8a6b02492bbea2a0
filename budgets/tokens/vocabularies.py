"""The two shipped vocabularies, verified at load and never fetched from the network."""

import hashlib
import lzma
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import MappingProxyType

from tiktoken import Encoding

from budgets.tokens.errors import UnknownTokenizer, VocabularyDamaged

VOCABULARY_FOLDER = Path(__file__).parent / "vocabulary_files"


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    sha256: str
    pattern: str
    special_tokens: Mapping[str, int]


# Hashes, patterns and special tokens are those of tiktoken_ext/openai_public.py; a test compares them.
VOCABULARIES: Mapping[str, Vocabulary] = MappingProxyType(
    {
        "o200k_base": Vocabulary(
            sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            pattern="|".join(
                [
                    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                    r"\p{N}{1,3}",
                    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                    r"\s*[\r\n]+",
                    r"\s+(?!\S)",
                    r"\s+",
                ]
            ),
            special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        ),
        "cl100k_base": Vocabulary(
            sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            pattern=(
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
                r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
            ),
            special_tokens={
                "<|endoftext|>": 100257,
                "<|fim_prefix|>": 100258,
                "<|fim_middle|>": 100259,
                "<|fim_suffix|>": 100260,
                "<|endofprompt|>": 100276,
            },
        ),
    }
)

_loaded: dict[str, Encoding] = {}
_loading = Lock()


def encoding(name: str) -> Encoding:
    """The encoding of that name; loaded once per process."""
    if ready := _loaded.get(name):
        return ready
    with _loading:
        if name not in _loaded:
            _loaded[name] = read_encoding(name)
    return _loaded[name]


def load_vocabularies() -> None:
    """Load both vocabularies, before a server forks, so that its workers share their memory."""
    for name in VOCABULARIES:
        encoding(name)


def read_encoding(name: str, folder: Path = VOCABULARY_FOLDER) -> Encoding:
    if name not in VOCABULARIES:
        raise UnknownTokenizer(f"There is no vocabulary {name!r}; shipped are {', '.join(VOCABULARIES)}.")
    vocabulary = VOCABULARIES[name]
    ranks = _ranks(_verified_bytes(folder / f"{name}.tiktoken.xz", vocabulary.sha256))
    built = Encoding(
        name,
        pat_str=vocabulary.pattern,
        mergeable_ranks=ranks,
        special_tokens=dict(vocabulary.special_tokens),
    )
    # The Rust side has its own copy; emptying ours saves 45 MB for the two vocabularies.
    ranks.clear()
    return built


def _verified_bytes(path: Path, expected_sha256: str) -> bytes:
    try:
        unpacked = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError, EOFError) as problem:
        raise VocabularyDamaged(_damage(path, str(problem))) from problem
    found = hashlib.sha256(unpacked).hexdigest()
    if found != expected_sha256:
        raise VocabularyDamaged(_damage(path, f"its sha256 is {found}, not {expected_sha256}"))
    return unpacked


def _damage(path: Path, reason: str) -> str:
    return (
        f"The vocabulary file {path.name} is damaged or missing: {reason}. "
        "Restore it from the release; it is never downloaded."
    )


def _ranks(published: bytes) -> dict[bytes, int]:
    # Lines of "token rank", the ranks counting from 0: the place says it, and the hash has proved the place.
    return {b64decode(token): rank for rank, token in enumerate(published.split()[::2])}
