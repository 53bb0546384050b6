"""Engines: each a child process that speaks OpenAI HTTP, and the launcher that knows how."""
