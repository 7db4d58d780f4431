//! One run as a pure state machine: events in, state and wants out.
