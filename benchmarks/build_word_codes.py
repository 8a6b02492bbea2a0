"""Builds sessions/core/related_words/ from GloVe vectors (Stanford, Public Domain Dedication and License).

    python benchmarks/build_word_codes.py glove.6B.100d.txt

Needs numpy, in a throw-away environment: the product itself reads only the two small files written here.
The vectors lose their mean and first three components (what all frequent words share), words with one stem
become one vector weighted by frequency, and the signs of 256 random directions make the code.
"""

import sys
from pathlib import Path

import numpy as np

from sessions.core.english import STOP_WORDS
from sessions.core.stemming import stem

WORDS_READ, STEMS_KEPT, CODE_BITS = 60_000, 16_000, 256
SHARED_COMPONENTS = 3
SEED = 7
TARGET = Path(__file__).resolve().parent.parent / "sessions" / "core" / "related_words"


def read_vectors(path: Path) -> tuple[list[str], np.ndarray]:
    words, rows = [], []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.split(" ")
            words.append(word)
            rows.append(np.array(numbers, dtype=np.float32))
            if len(words) == WORDS_READ:
                break
    return words, np.stack(rows)


def without_shared_components(vectors: np.ndarray) -> np.ndarray:
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    shared = directions[:SHARED_COMPONENTS]
    cleaned = centred - (centred @ shared.T) @ shared
    return cleaned / (np.linalg.norm(cleaned, axis=1, keepdims=True) + 1e-9)


def stem_vectors(words: list[str], vectors: np.ndarray) -> dict[str, np.ndarray]:
    """Most frequent stems first; a word's weight falls with its frequency rank."""
    sums: dict[str, np.ndarray] = {}
    for rank, word in enumerate(words):
        if word.isascii() and word.isalpha() and len(word) > 1 and word not in STOP_WORDS:
            key = stem(word)
            sums[key] = sums.get(key, 0) + vectors[rank] / (rank + 10)
    return dict(list(sums.items())[:STEMS_KEPT])


def random_directions(dimensions: int) -> np.ndarray:
    """Orthonormal block by block: fewer bits say the same thing twice."""
    generator = np.random.default_rng(SEED)
    blocks = [
        np.linalg.qr(generator.standard_normal((dimensions, dimensions)))[0]
        for _ in range(-(-CODE_BITS // dimensions))
    ]
    return np.hstack(blocks)[:, :CODE_BITS]


def main(source: Path) -> None:
    words, vectors = read_vectors(source)
    stems = stem_vectors(words, without_shared_components(vectors))
    signs = np.stack(list(stems.values())) @ random_directions(vectors.shape[1]) > 0
    (TARGET / "codes.bin").write_bytes(np.packbits(signs, axis=1).tobytes())
    (TARGET / "stems.txt").write_text("\n".join(stems) + "\n", encoding="utf-8")
    print(f"{len(stems)} stems, {CODE_BITS} bits each, written to {TARGET.name}/")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
