"""What a person asks for: the spec, its units, and reading it with errors that help."""
