"""What replicas say of themselves, read over SSH."""
