//! How one attempt runs: a command under a supervisor that outlives the engine.
