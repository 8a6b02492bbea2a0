"""The archive's own inverted index: plain rows, so that both databases find exactly the same."""

from __future__ import annotations

from django.db import models

from kernel.fields import CanonicalJSONField, IdField


class ArchiveIndex(models.Model):
    """How far a session is indexed, and the statistics that ranking needs."""

    session = models.OneToOneField("AgentSession", on_delete=models.CASCADE, primary_key=True)
    indexed_to_seq = models.BigIntegerField(default=0)
    documents = models.BigIntegerField(default=0)
    total_terms = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.session_id} to {self.indexed_to_seq}"


class ArchiveDocument(models.Model):
    """The terms of one message, made once."""

    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE)
    seq = models.BigIntegerField()
    terms = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="archive_document_once")]

    def __str__(self) -> str:
        return f"{self.session_id} {self.seq}"


class ArchiveTerm(models.Model):
    """Where a term occurs; of a term in very many messages only the count is kept: it finds nothing."""

    session = models.ForeignKey("AgentSession", on_delete=models.CASCADE)
    project_id = IdField()
    term = models.CharField(max_length=80)
    documents = models.BigIntegerField()
    seqs = CanonicalJSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "term"], name="archive_term_once")]
        indexes = [models.Index(fields=["project_id", "term"], name="archive_term_by_project")]

    def __str__(self) -> str:
        return self.term
