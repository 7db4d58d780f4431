//! A disk that fails on request, for tests.
