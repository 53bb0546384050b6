"""The Pulumi side: components, resources of our provider, typed outputs."""
