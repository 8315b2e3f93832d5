"""Where commands of an agent's choosing run."""
