"""Everything that changes budgets, and what resolves names into the values that the rules work on."""
