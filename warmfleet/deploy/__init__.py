"""What the verbs do: bring an environment up, prove that it answers, show it, take it down."""
