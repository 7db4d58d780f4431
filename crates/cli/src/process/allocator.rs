//! The allocator of this program.
//!
//! What one thread of the engine has allocated is often freed by another one, at which the allocator of the C library is slow: with
//! this one a step takes a sixth fewer instructions where many runs go on at once (docs/figures.md). It keeps huge pages
//! from this process: with them, 1,000 runs in flight took 56 MiB and not 48.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets this process, and the programs that it starts, use huge pages. The allocator forbids them before `main` begins, and programs would
/// inherit that. For what starts the programs of a flow. Who has forbidden them to `envoi` has not forbidden them to these programs.
pub(crate) fn allow_huge_pages() {
    // A kernel that does not know the call has not obeyed the allocator either.
    #[cfg(target_os = "linux")]
    rustix::thread::disable_transparent_huge_pages(false).ok();
}
