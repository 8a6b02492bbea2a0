"""How each format spells a canonical conversation."""
