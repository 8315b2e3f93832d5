"""What an agent did, in one vocabulary for every runtime."""
