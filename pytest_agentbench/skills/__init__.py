"""Skills: folders in the Agent Skills form, given to agents, made by them, kept for others."""
