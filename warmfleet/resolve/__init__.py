"""Facts that a spec refers to: the only part that reads the world; its results go into the lock."""
