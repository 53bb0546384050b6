"""The inference service of one model on one host: a warm gate in front of a supervised engine."""
