"""The Pulumi provider ``warmfleet``: what can be made, changed and removed."""
