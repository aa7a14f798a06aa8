//! Packed files: gzip is unpacked once, before the clock, to a file without a name, so that its rows can be read by
//! offset like any others. It is gone with the process, however that ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Where large files that nobody else needs belong, the better place first.
const FOLDERS: [&str; 2] = ["/var/tmp", "/tmp"];

/// `file`, or where it is packed what it holds.
pub(super) fn unpacked(file: File) -> io::Result<File> {
    let mut magic = [0; 4];
    let read = file.read_at(&mut magic, 0)?;
    if magic[..read].starts_with(&ZSTANDARD) {
        return Err(io::Error::other("it is packed with Zstandard, which is not read here"));
    }
    if !magic[..read].starts_with(&GZIP) {
        return Ok(file);
    }
    let mut plain = nameless()?;
    let mut writer = BufWriter::with_capacity(1 << 18, &plain);
    io::copy(&mut MultiGzDecoder::new(BufReader::with_capacity(1 << 18, file)), &mut writer)?;
    writer.flush()?;
    drop(writer);
    plain.rewind()?;
    Ok(plain)
}

/// A new file that has no name any more.
fn nameless() -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("tonnage-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let made = |folder: &str| {
        let path = Path::new(folder).join(&name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    };
    FOLDERS.into_iter().map(made).reduce(Result::or).unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
}
