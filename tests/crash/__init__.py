"""Real coordinators, killed and stopped."""
