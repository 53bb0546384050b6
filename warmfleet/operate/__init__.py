"""What an operator does to one host: take it out, restart it, replace it, look into it."""
