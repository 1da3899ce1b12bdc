//! Starts PostgreSQL for tests: one cluster for all tests of this machine's user, on its own socket. The first test starts
//! it, and it ends when it was unused for a while. Uses only the standard library, so that tests of other crates can
//! include this file.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// For speed alone: what is in it is worth nothing.
const SETTINGS: &str = "listen_addresses = ''
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
shared_buffers = 32MB
";
/// A user who is asked for a password, and all the others.
const USERS: &str = "local all guarded scram-sha-256
local all all trust
";
/// The cluster ends this many seconds after the last test, at the earliest.
const LINGER: &str = "20";

/// An empty database, until it is dropped.
pub(crate) struct Database {
    name: String,
    cluster: &'static Cluster,
}

impl Database {
    /// A test that calls this needs `#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]`.
    pub(crate) fn create() -> Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let cluster = CLUSTER.get_or_init(|| {
            Cluster::join().expect("PostgreSQL is not installed: install Debian's package postgresql")
        });
        let name = format!("t{}_{}", std::process::id(), CREATED.fetch_add(1, Ordering::Relaxed));
        cluster.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Self { name, cluster }
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// `user` can have a password behind a colon.
    pub(crate) fn url_of(&self, user: &str) -> String {
        format!("postgres://{user}@localhost/{}?host={}", self.name, self.cluster.data().display())
    }

    /// Runs statements, and answers what they print, a row a line.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.cluster.sql(&self.name, sql)
    }

    /// Runs the statements of a file, such as one that `pg_dump` wrote.
    #[allow(dead_code, reason = "not every test binary restores a dump")]
    pub(crate) fn run_file(&self, file: &Path) {
        let mut psql = self.cluster.psql(&self.name);
        run(psql.arg("-f").arg(file));
    }

    /// Cuts every connection to it, and lets none be made any more.
    pub(crate) fn close(&self) {
        let name = &self.name;
        self.cluster.sql("postgres", &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
        self.cluster.sql(
            "postgres",
            &format!(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'"
            ),
        );
    }

    /// As it was before [`Self::close`].
    #[allow(dead_code, reason = "not every test binary cuts it off for a while")]
    pub(crate) fn open_again(&self) {
        self.cluster.sql("postgres", &format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster.sql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

struct Cluster {
    programs: PathBuf,
    dir: PathBuf,
    /// Shared by every test process that uses the cluster.
    _in_use: File,
}

impl Cluster {
    fn join() -> Option<Self> {
        let programs = programs()?;
        let uid = fs::metadata("/proc/self").unwrap().uid();
        let dir = std::env::temp_dir().join(format!("docwright-test-postgres-{uid}"));
        let _ = fs::create_dir(&dir);
        let found = fs::symlink_metadata(&dir).unwrap();
        assert!(found.is_dir() && found.uid() == uid, "{} is somebody else's", dir.display());
        // The server's user, if it is another one, must get to its files.
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        let (in_use, starting) = (open(&dir.join("in-use")), open(&dir.join("starting")));
        in_use.lock_shared().unwrap();
        starting.lock().unwrap();
        let cluster = Self { programs, dir, _in_use: in_use };
        if !cluster.runs() {
            cluster.start();
        }
        Some(cluster)
    }

    /// Its files, and its socket.
    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn runs(&self) -> bool {
        let ready =
            Command::new(self.programs.join("pg_isready")).arg("-q").arg("-h").arg(self.data()).status();
        ready.unwrap().success()
    }

    fn start(&self) {
        let data = self.data();
        let _ = fs::remove_dir_all(&data);
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        if let Some(user) = server_user() {
            run(Command::new("chown").arg(user).arg(&data));
        }
        let initdb =
            ["initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"];
        run(self.program(&initdb).arg(&data));
        let settings = format!("{SETTINGS}unix_socket_directories = '{}'\n", data.display());
        fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
        fs::write(data.join("pg_hba.conf"), USERS).unwrap();
        run(self.program(&["pg_ctl", "start", "-w", "-s", "-l", "/dev/null", "-D"]).arg(&data));
        self.watch(&data);
    }

    /// Ends the cluster once it can have the lock that every test has a share in.
    fn watch(&self, data: &Path) {
        let stop = self.program(&["pg_ctl", "stop", "-s", "-m", "immediate", "-D"]);
        let mut watch = Command::new("setsid");
        watch
            .args(["--fork", "sh", "-c", r#"sleep "$0"; exec flock "$@""#, LINGER])
            .arg(self.dir.join("in-use"));
        watch.arg(stop.get_program()).args(stop.get_args()).arg(data);
        assert!(
            watch
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    }

    /// PostgreSQL's programs refuse to be run by root.
    fn program(&self, words: &[&str]) -> Command {
        let program = self.programs.join(words[0]);
        let mut command = match server_user() {
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).args(["--clear-groups", "--"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args(&words[1..]).current_dir("/");
        command
    }

    fn sql(&self, database: &str, sql: &str) -> String {
        run(self.psql(database).arg("-c").arg(sql))
    }

    fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]);
        psql.arg("-h").arg(self.data()).env_remove("PGOPTIONS");
        psql
    }
}

fn server_user() -> Option<&'static str> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    is_root.then_some("nobody")
}

/// The newest that Debian installed.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(|path| number(path))?;
    Some(newest.join("bin")).filter(|bin| bin.join("initdb").exists())
}

fn open(path: &Path) -> File {
    File::options().create(true).append(true).open(path).unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
