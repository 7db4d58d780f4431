//! The allocator of this program.
//!
//! What one thread of the engine has allocated is often freed by another one, at which the allocator of the C library is slow: with
//! this one a step takes a sixth fewer instructions where many runs go on at once (docs/figures.md). It asks for no huge pages: with them,
//! 1,000 runs in flight took 56 MiB and not 48.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets the programs that this one starts use huge pages. The allocator forbids them to this process before `main` begins, and
/// programs would inherit that. It goes on without them itself, because it does not ask for them.
pub(crate) fn leave_huge_pages_to_children() {
    // A kernel that does not know the call has not obeyed the allocator's either.
    #[cfg(target_os = "linux")]
    rustix::thread::disable_transparent_huge_pages(false).ok();
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn programs_that_are_started_may_use_huge_pages() {
        super::leave_huge_pages_to_children();
        let of_a_child = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
        let status = String::from_utf8(of_a_child.stdout).unwrap();
        assert!(status.contains("THP_enabled:\t1"), "{status}");
    }
}
