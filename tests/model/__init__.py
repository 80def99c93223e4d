"""The model checker at work: mixes of faults, ablations, and the model's own tests."""
