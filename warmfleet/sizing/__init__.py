"""Physics of a model on a card: what it holds in memory and how fast it answers."""
