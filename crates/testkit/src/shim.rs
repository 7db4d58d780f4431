//! An SQLite file system that puts a [`Watched`] between SQLite and the machine's files.
//!
//! Contains all unsafe code, and decides nothing. It is a copy of the default file system with another
//! `xOpen` and `xDelete`. A file on one of our disks begins with our part, and the machine's part follows.

use crate::watched::{self, Watched};
use libsqlite3_sys::{
    SQLITE_IOCAP_BATCH_ATOMIC, SQLITE_IOERR, SQLITE_NOTFOUND, SQLITE_OK, sqlite3_file, sqlite3_int64,
    sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};
use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    ptr, slice,
    sync::OnceLock,
};

/// The default file system before ours was installed.
static MACHINE: OnceLock<Machine> = OnceLock::new();

struct Machine(*mut sqlite3_vfs);

// SAFETY: SQLite itself uses the same pointer from every thread; what it points to is never changed, and lives as long
// as the process.
unsafe impl Send for Machine {}
// SAFETY: as above.
unsafe impl Sync for Machine {}

/// Our part of an open file. SQLite allocates memory for it and for the machine's part, which begins at
/// `OURS_BYTES`, aligned for a pointer and an `i64`.
#[repr(C)]
struct Ours {
    base: sqlite3_file,
    /// From `Box::into_raw`, until `close`.
    watched: *mut Watched,
}

const OURS_BYTES: usize = size_of::<Ours>();

/// Makes ours the default file system, once per process.
pub(crate) fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    match INSTALLED.get_or_init(|| register().is_some()) {
        true => Ok(()),
        false => Err(io::Error::other("sqlite refuses another file system")),
    }
}

/// `None` if SQLite refuses.
fn register() -> Option<()> {
    // SAFETY: null asks for the default one; the answer is null or lives as long as the process.
    let machine = unsafe { sqlite3_vfs_find(ptr::null()) };
    // SAFETY: as above.
    let copied = unsafe { machine.as_ref() }?;
    let ours = Box::leak(Box::new(sqlite3_vfs {
        szOsFile: copied.szOsFile.checked_add(c_int::try_from(OURS_BYTES).ok()?)?,
        pNext: ptr::null_mut(),
        zName: c"envoi-fault".as_ptr(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..*copied
    }));
    // Set it before ours is registered, because ours may be called immediately after that.
    MACHINE.set(Machine(machine)).ok()?;
    // SAFETY: a whole file system that is never freed. The functions that were copied find what they need in `pAppData`,
    // which was copied too.
    let result = unsafe { sqlite3_vfs_register(ours, 1) };
    (result == SQLITE_OK).then_some(())
}

fn machine() -> *mut sqlite3_vfs {
    MACHINE.get().map_or(ptr::null_mut(), |machine| machine.0)
}

/// The path of a name from SQLite; `None` for a file without a name.
///
/// # Safety
/// `name` is null or a C string that lives for `'a`.
unsafe fn path<'a>(name: *const c_char) -> Option<&'a Path> {
    if name.is_null() {
        return None;
    }
    // SAFETY: not null; the rest is the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())))
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let machine = machine();
    // SAFETY: null, or a file system that lives as long as the process.
    let Some(xopen) = (unsafe { machine.as_ref() }).and_then(|machine| machine.xOpen) else {
        return SQLITE_IOERR;
    };
    // SAFETY: SQLite gives null or a C string.
    let Some(watched) = unsafe { path(name) }.and_then(watched::find) else {
        // SAFETY: SQLite's own arguments. The file has more room than the machine needs.
        return unsafe { xopen(machine, name, file, flags, out) };
    };
    // SAFETY: SQLite made room for `szOsFile` bytes, which is ours and the machine's.
    let real = unsafe { file.byte_add(OURS_BYTES) };
    // SAFETY: `real` has the room that the machine wants, all zero as SQLite left it; the rest are SQLite's arguments.
    let result = watched.open(|| unsafe { xopen(machine, name, real, flags, out) });
    let (methods, watched) = match result {
        SQLITE_OK => (&raw const METHODS, Box::into_raw(Box::new(watched))),
        // Without methods SQLite does not close the file, and the machine leaves nothing open when it fails.
        _ => (ptr::null(), ptr::null_mut()),
    };
    // SAFETY: there is room for our part, aligned, and SQLite waits for it to be filled.
    unsafe { file.cast::<Ours>().write(Ours { base: sqlite3_file { pMethods: methods }, watched }) };
    result
}

unsafe extern "C" fn delete(_vfs: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    let machine = machine();
    // SAFETY: null, or a file system that lives as long as the process.
    let Some(xdelete) = (unsafe { machine.as_ref() }).and_then(|machine| machine.xDelete) else {
        return SQLITE_IOERR;
    };
    // SAFETY: SQLite gives null or a C string.
    let watched = unsafe { path(name) }.and_then(watched::find);
    // As with files, do not wait for the machine's own disk.
    let sync_folder = if watched.is_some() { 0 } else { sync_folder };
    // SAFETY: SQLite's own arguments.
    let result = unsafe { xdelete(machine, name, sync_folder) };
    if let (SQLITE_OK, Some(watched)) = (result, watched) {
        watched.removed();
    }
    result
}

/// The operations that SQLite may use on our files. Version 2: without memory maps of the file itself, which
/// no method would see.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The machine's part of one of our files.
///
/// # Safety
/// `file` was opened by [`open`] and is not closed. This holds in every method: SQLite calls them for no
/// other file.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite made room for both parts.
    unsafe { file.byte_add(OURS_BYTES) }
}

/// The machine's methods for one of our files.
///
/// # Safety
/// Like [`real`].
unsafe fn methods<'a>(file: *mut sqlite3_file) -> Option<&'a sqlite3_io_methods> {
    // SAFETY: an open file's methods are set, and live as long as the file.
    unsafe { (*real(file)).pMethods.as_ref() }
}

/// The object between SQLite and the machine.
///
/// # Safety
/// Like [`real`].
unsafe fn watched<'a>(file: *mut sqlite3_file) -> Option<&'a Watched> {
    // SAFETY: `open` put it there, and only `close` frees it.
    unsafe { (*file.cast::<Ours>()).watched.as_ref() }
}

/// Defines a method that calls the machine's.
macro_rules! forward {
    ($($name:ident = $method:ident($($argument:ident: $type:ty),*) else $otherwise:expr => $result:ty;)*) => {
        $(unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> $result {
            // SAFETY: SQLite calls a method only for an open file.
            match unsafe { methods(file) }.and_then(|methods| methods.$method) {
                // SAFETY: the machine's own file, and SQLite's arguments.
                Some(method) => unsafe { method(real(file) $(, $argument)*) },
                None => $otherwise,
            }
        })*
    };
}

forward! {
    read = xRead(bytes: *mut c_void, len: c_int, offset: sqlite3_int64) else SQLITE_IOERR => c_int;
    write_real = xWrite(bytes: *const c_void, len: c_int, offset: sqlite3_int64) else SQLITE_IOERR => c_int;
    truncate_real = xTruncate(len: sqlite3_int64) else SQLITE_IOERR => c_int;
    close_real = xClose() else SQLITE_OK => c_int;
    file_size = xFileSize(len: *mut sqlite3_int64) else SQLITE_IOERR => c_int;
    lock = xLock(level: c_int) else SQLITE_IOERR => c_int;
    unlock = xUnlock(level: c_int) else SQLITE_IOERR => c_int;
    check_reserved_lock = xCheckReservedLock(found: *mut c_int) else SQLITE_IOERR => c_int;
    file_control = xFileControl(what: c_int, argument: *mut c_void) else SQLITE_NOTFOUND => c_int;
    sector_size = xSectorSize() else 0 => c_int;
    real_characteristics = xDeviceCharacteristics() else 0 => c_int;
    shm_map = xShmMap(page: c_int, len: c_int, extend: c_int, out: *mut *mut c_void) else SQLITE_IOERR => c_int;
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int) else SQLITE_IOERR => c_int;
    shm_barrier = xShmBarrier() else () => ();
    shm_unmap = xShmUnmap(remove: c_int) else SQLITE_OK => c_int;
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: an open file; SQLite closes it once and does not use it afterwards.
    let result = unsafe { close_real(file) };
    // SAFETY: `open` wrote our part, and its box is freed here only.
    unsafe {
        drop(Box::from_raw((*file.cast::<Ours>()).watched));
        (*file.cast::<Ours>()).watched = ptr::null_mut();
    }
    result
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    len: c_int,
    at: sqlite3_int64,
) -> c_int {
    let (Ok(len), Ok(offset)) = (usize::try_from(len), usize::try_from(at)) else { return SQLITE_IOERR };
    // SAFETY: SQLite gives so many bytes, which stay as they are during the call.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len) };
    let write = |bytes: &[u8]| match c_int::try_from(bytes.len()) {
        // SAFETY: an open file, and bytes that live longer than the call.
        Ok(len) => unsafe { write_real(file, bytes.as_ptr().cast(), len, at) },
        Err(_) => SQLITE_IOERR,
    };
    // SAFETY: SQLite calls a method only for an open file.
    unsafe { watched(file) }.map_or(SQLITE_IOERR, |watched| watched.write(offset, bytes, write))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, len: sqlite3_int64) -> c_int {
    let Ok(kept) = usize::try_from(len) else { return SQLITE_IOERR };
    // SAFETY: an open file.
    let truncate = || unsafe { truncate_real(file, len) };
    // SAFETY: SQLite calls a method only for an open file.
    unsafe { watched(file) }.map_or(SQLITE_IOERR, |watched| watched.truncate(kept, truncate))
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: SQLite calls a method only for an open file.
    unsafe { watched(file) }.map_or(SQLITE_IOERR, Watched::sync)
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls a method only for an open file. Without atomic batches, every write comes by `write`.
    unsafe { real_characteristics(file) & !SQLITE_IOCAP_BATCH_ATOMIC }
}
