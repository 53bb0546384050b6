"""HTTP routes, one concern a module."""
