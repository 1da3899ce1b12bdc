//! Writes and reads a backup as a `.tar.zst`: the manifest, then the files in the order of the manifest. It has only
//! regular files.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use tar::{EntryType, Header};

use super::disk::create_file;
use super::manifest::{MANIFEST, Manifest};
use super::unpack::{BackupReader, Unpacker};

const COMPRESSION_LEVEL: i32 = 3;
/// The padding after the last file.
const MAX_PADDING_BYTES: u64 = 1 << 20;
/// More than a path can have.
const MAX_NAME_BYTES: u64 = 8 << 10;
const DAMAGED: &str = "it is cut off or damaged";

pub(super) fn write_manifest(folder: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    let mut file = create_file(&folder.join(MANIFEST))?;
    file.write_all(serde_json::to_string_pretty(manifest)?.as_bytes())?;
    Ok(file.write_all(b"\n")?)
}

/// Packs the folder, and syncs the archive to disk.
pub(super) fn write(folder: &Path, manifest: &Manifest, to: &Path) -> anyhow::Result<()> {
    let file = create_file(to)?;
    let mut packed = zstd::Encoder::new(BufWriter::new(file), COMPRESSION_LEVEL)?;
    packed.include_checksum(true)?;
    let mut archive = tar::Builder::new(packed);
    let names = manifest.files.iter().map(|file| file.path.as_str());
    for name in [MANIFEST].into_iter().chain(names) {
        append(&mut archive, folder, name).with_context(|| format!("{name} cannot be packed"))?;
    }
    let file = archive.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(file.sync_all()?)
}

fn append(archive: &mut tar::Builder<impl Write>, folder: &Path, name: &str) -> anyhow::Result<()> {
    let file = File::open(folder.join(name))?;
    let metadata = file.metadata()?;
    let modified = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(metadata.len());
    header.set_mtime(modified.as_secs());
    // If the file has grown, the rest must not become a part of the next entry.
    Ok(archive.append_data(&mut header, name, file.take(metadata.len()))?)
}

/// Unpacks an archive into an empty folder, and verifies it on the way.
pub(super) fn read(from: &Path, into: &Path) -> anyhow::Result<Manifest> {
    let mut archive = tar::Archive::new(zstd::Decoder::new(File::open(from)?)?);
    // Raw entries: otherwise the library reads a long name into memory, without a limit.
    let mut entries = archive.entries()?.raw(true);
    let Some((name, first)) = next_file(&mut entries).context("it is not a .tar.zst")? else {
        bail!("it is empty")
    };
    ensure!(name == MANIFEST, "it does not begin with a manifest.json");
    let manifest = Manifest::read(BackupReader(first))?;
    let mut unpacker = Unpacker::begin(&manifest, into)?;
    while let Some((name, entry)) = next_file(&mut entries)? {
        unpacker.copy_file(&name, entry)?;
    }
    unpacker.finish()?;
    // The end of the stream holds its checksum.
    let mut rest = Vec::new();
    let end = archive.into_inner().take(MAX_PADDING_BYTES + 1).read_to_end(&mut rest);
    let length = end.context(DAMAGED)? as u64;
    ensure!(
        length <= MAX_PADDING_BYTES && rest.iter().all(|byte| *byte == 0),
        "it has more data after its end"
    );
    Ok(manifest)
}

/// The next regular file, with its name. A long name is an entry of its own before the file.
fn next_file<'a, R: Read>(
    entries: &mut tar::Entries<'a, R>,
) -> anyhow::Result<Option<(String, tar::Entry<'a, R>)>> {
    let Some(mut entry) = entries.next().transpose().context(DAMAGED)? else { return Ok(None) };
    let mut name = entry.path_bytes().into_owned();
    if entry.header().entry_type() == EntryType::GNULongName {
        name = long_name(entry)?;
        entry = entries.next().transpose().context(DAMAGED)?.context(DAMAGED)?;
    }
    let Ok(name) = String::from_utf8(name) else { bail!("it has a file whose name is not UTF-8") };
    ensure!(
        entry.header().entry_type() == EntryType::Regular,
        "it has {name:?}, which is not a regular file"
    );
    Ok(Some((name, entry)))
}

fn long_name(entry: tar::Entry<'_, impl Read>) -> anyhow::Result<Vec<u8>> {
    ensure!(entry.size() <= MAX_NAME_BYTES, "it has a file whose name is too long");
    let mut name = Vec::new();
    entry.take(MAX_NAME_BYTES).read_to_end(&mut name).context(DAMAGED)?;
    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
    Ok(name)
}
