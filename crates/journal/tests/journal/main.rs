//! What only whole processes and damaged files can show: killed engines, torn writes, no room, two engines.

mod child;
mod full;
mod killed;
mod torn;
mod two_engines;
