//! A simulated clock, store and step runner, driven by a seed.
