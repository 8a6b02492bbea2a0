"""The arithmetic of budgets: pure rules on integers, standard library only."""
