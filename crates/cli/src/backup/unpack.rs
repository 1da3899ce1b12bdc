//! Copies the files of a backup into an empty folder: exactly the files in the manifest, each verified with its hash.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::archive;
use super::disk::{create_dir, create_file};
use super::manifest::{IncludedFile, MANIFEST, Manifest, hash};

/// Verifies a backup and copies it into `into`.
pub(super) fn unpack(from: &Path, into: &Path) -> anyhow::Result<Manifest> {
    let name = from.display();
    let metadata = fs::metadata(from).with_context(|| format!("{name} cannot be read"))?;
    let unpacked = match metadata.is_dir() {
        true => read_folder(from, into),
        false => archive::read(from, into),
    };
    unpacked.with_context(|| format!("{name} cannot be restored"))
}

fn read_folder(from: &Path, into: &Path) -> anyhow::Result<Manifest> {
    let manifest = open(from, MANIFEST).context("it has no manifest.json")?;
    let manifest = Manifest::read(manifest)?;
    let mut unpacker = Unpacker::begin(&manifest, into)?;
    for file in &manifest.files {
        unpacker.copy_file(&file.path, open(from, &file.path)?)?;
    }
    unpacker.finish()?;
    Ok(manifest)
}

/// Opens a regular file of the folder, and no link, which could lead out of it.
fn open(folder: &Path, name: &str) -> anyhow::Result<File> {
    let mut path = folder.to_owned();
    for part in name.split('/') {
        path.push(part);
        let metadata =
            fs::symlink_metadata(&path).with_context(|| format!("its file {name} cannot be read"))?;
        ensure!(!metadata.is_symlink(), "its file {name} is a link");
    }
    ensure!(fs::metadata(&path)?.is_file(), "its file {name} is not a regular file");
    Ok(File::open(path)?)
}

/// Marks read errors, so that they differ from write errors of the target disk.
pub(super) struct BackupReader<R>(pub(super) R);

impl<R: Read> Read for BackupReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged =
            |error: io::Error| io::Error::new(error.kind(), format!("it is cut off or damaged: {error}"));
        self.0.read(buffer).map_err(damaged)
    }
}

pub(super) struct Unpacker {
    into: PathBuf,
    missing: HashMap<String, IncludedFile>,
}

impl Unpacker {
    pub(super) fn begin(manifest: &Manifest, into: &Path) -> anyhow::Result<Self> {
        for directory in &manifest.directories {
            create_dir(&into.join(directory))?;
        }
        let missing = manifest.files.iter().map(|file| (file.path.clone(), file.clone()));
        Ok(Self { into: into.to_owned(), missing: missing.collect() })
    }

    /// Copies a file, at most as many bytes as the manifest says, and verifies it.
    pub(super) fn copy_file(&mut self, name: &str, from: impl Read) -> anyhow::Result<()> {
        let Some(expected) = self.missing.remove(name) else {
            bail!("it has a file {name:?} that is not in its manifest.json, or has it twice")
        };
        let path = self.into.join(name);
        let mut file = create_file(&path).with_context(|| format!("{} cannot be written", path.display()))?;
        let from = BackupReader(from.take(expected.bytes.saturating_add(1)));
        let (bytes, sha256) = hash(from, &mut file).with_context(|| format!("its file {name}"))?;
        ensure!(
            bytes == expected.bytes && sha256 == expected.sha256,
            "its file {name} is cut off or damaged: use another backup"
        );
        Ok(())
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self.missing.keys().min() {
            Some(name) => bail!("its file {name} is missing: it is cut off or damaged"),
            None => Ok(()),
        }
    }
}
