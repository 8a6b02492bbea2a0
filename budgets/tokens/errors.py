"""What can go wrong while counting tokens.

TokenError
├── VocabularyDamaged   a shipped vocabulary file is missing or is not the published one
└── UnknownTokenizer    no counter has that name
"""


class TokenError(Exception):
    code = "token_error"


class VocabularyDamaged(TokenError):
    code = "vocabulary_damaged"


class UnknownTokenizer(TokenError, ValueError):
    code = "unknown_tokenizer"
