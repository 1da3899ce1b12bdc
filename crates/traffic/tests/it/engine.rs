//! Starts ClickHouse for tests: one server for all tests of this machine's user, and servers of their own for tests that
//! kill it. It is `scripts/clickhouse_engine.py`, in front of ClickHouse as a library.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PYTHON: &str = "docwright/chdb-core-26.9.0/bin/python";
const START_TRIES: u32 = 600;

/// An empty database on the shared server, until it is dropped.
pub(crate) struct EngineDatabase {
    name: String,
    pub(crate) port: u16,
}

impl EngineDatabase {
    /// A test that calls this needs `#[cfg_attr(not(has_engines), ignore = "…")]`.
    pub(crate) fn create() -> Self {
        static SERVER: OnceLock<SharedServer> = OnceLock::new();
        let port = SERVER.get_or_init(SharedServer::join).port;
        Self::create_on(port)
    }

    pub(crate) fn create_on(port: u16) -> Self {
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), CREATED.fetch_add(1, Ordering::Relaxed));
        let database = Self { name, port };
        post(port, "", &format!("CREATE DATABASE {}", database.name)).unwrap();
        database
    }

    pub(crate) fn url(&self) -> String {
        self.url_at(self.port)
    }

    pub(crate) fn url_at(&self, port: u16) -> String {
        format!("http://127.0.0.1:{port}/{}", self.name)
    }

    /// Lets a server end when a statement arrives, or after it ran it.
    pub(crate) fn die(port: u16, statement: u32, when: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let request = format!("GET /die?after={statement}&when={when} HTTP/1.1\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Runs a statement. The answer has a row a line, and tabs between columns.
    pub(crate) fn sql(&self, sql: &str) -> String {
        post(self.port, &self.name, sql).unwrap().trim().to_owned()
    }
}

impl Drop for EngineDatabase {
    fn drop(&mut self) {
        let _ = post(self.port, "", &format!("DROP DATABASE {} SYNC", self.name));
    }
}

struct SharedServer {
    port: u16,
    /// Shared by every test process that uses the server.
    _in_use: File,
}

impl SharedServer {
    fn join() -> Self {
        let uid = fs::metadata("/proc/self").unwrap().uid();
        let dir = std::env::temp_dir().join(format!("docwright-test-clickhouse-{uid}"));
        let _ = fs::create_dir(&dir);
        let found = fs::symlink_metadata(&dir).unwrap();
        assert!(found.is_dir() && found.uid() == uid, "{} belongs to another user", dir.display());
        let open = |name: &str| File::options().create(true).append(true).open(dir.join(name)).unwrap();
        let (in_use, starting) = (open("in-use"), open("starting"));
        in_use.lock_shared().unwrap();
        starting.lock().unwrap();
        let port_file = dir.join("port");
        let running = read_port(&port_file).filter(|port| post(*port, "", "SELECT 1").is_ok());
        let port = running.unwrap_or_else(|| {
            let _ = fs::remove_dir_all(dir.join("data"));
            let _ = fs::remove_file(&port_file);
            let mut server = Command::new("setsid");
            server.arg("--fork").arg(python()).arg(script()).arg(dir.join("data")).arg(&port_file);
            let server = server.arg(dir.join("in-use")).stdin(Stdio::null()).stdout(Stdio::null());
            assert!(server.stderr(Stdio::null()).status().unwrap().success());
            wait_for_port(&port_file)
        });
        Self { port, _in_use: in_use }
    }
}

/// A server that a test can kill, with a directory that outlives it.
pub(crate) struct OwnServer {
    child: Child,
    folder: PathBuf,
    pub(crate) port: u16,
}

impl OwnServer {
    pub(crate) fn start(folder: &Path, password: &str) -> Self {
        let child = spawn(folder, password, 0);
        Self { child, folder: folder.to_owned(), port: wait_for_port(&folder.join("port")) }
    }

    /// Starts it again, on the same port.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.folder, "", self.port);
        wait_for_port(&self.folder.join("port"));
    }

    /// Ends the server as by SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(self.folder.join("port"));
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(folder: &Path, password: &str, port: u16) -> Child {
    let mut server = Command::new(python());
    server.arg(script()).arg(folder.join("data")).arg(folder.join("port"));
    server.env("CLICKHOUSE_TEST_PASSWORD", password).env("CLICKHOUSE_TEST_PORT", port.to_string());
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clickhouse_engine.py")
}

fn python() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    let python = cache.join(PYTHON);
    assert!(python.exists(), "ClickHouse is not installed: run scripts/clickhouse_engine.py");
    python
}

fn read_port(file: &Path) -> Option<u16> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn wait_for_port(file: &Path) -> u16 {
    for _ in 0..START_TRIES {
        if let Some(port) = read_port(file) {
            return port;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("ClickHouse did not start");
}

/// Sends a statement with the standard library alone.
fn post(port: u16, database: &str, sql: &str) -> Result<String, String> {
    let error = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(error)?;
    let head = format!(
        "POST /?default_format=TSV HTTP/1.1\r\nHost: engine\r\nConnection: close\r\nContent-Length: {}\r\n",
        sql.len()
    );
    let database = match database {
        "" => String::new(),
        name => format!("X-ClickHouse-Database: {name}\r\n"),
    };
    stream.write_all(format!("{head}{database}\r\n{sql}").as_bytes()).map_err(error)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(error)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    if head.starts_with("HTTP/1.1 200") { Ok(body.to_owned()) } else { Err(answer) }
}
