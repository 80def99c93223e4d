"""Adapters, each against the promises of its ports."""
