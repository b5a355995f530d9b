"""How times are written where Django writes them: the support pages."""
