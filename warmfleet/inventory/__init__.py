"""From the plan and the stack's output to hosts, groups and role inputs."""
