//! Tests that a job which waits for its model holds no worker: other jobs run, and its slot is freed when it stops.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::{Value, json};
use server::Worker;
use server::model::Provider;
use store::LEASE;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::{DOCS, edit};
use crate::cluster::Database;
use crate::postgres::serve_with;
use crate::provider::{FakeProvider, Turn, finish};
use crate::support::{Team, TestServer};

/// More jobs than a test's workers, and than the calls to a model.
const STALLED: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(60);

/// The model `stalled` never answers. The model `quick` answers as the test says.
struct Providers {
    stalled: FakeProvider,
    quick: FakeProvider,
}

impl Providers {
    async fn start() -> Self {
        Self { stalled: FakeProvider::start([]).await, quick: FakeProvider::start([]).await }
    }

    fn configure(&self, settings: &mut server::Settings, concurrent_calls: u32) {
        for (name, provider) in [("stalled", &self.stalled), ("quick", &self.quick)] {
            let mut model = provider.settings(Provider::Compatible);
            model.concurrent_calls = Some(concurrent_calls);
            settings.models.insert(name.into(), model);
        }
    }
}

/// A worker in a task, with two permits for local work.
struct RunningWorker {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl RunningWorker {
    fn start(server: &TestServer) -> Self {
        let (worker, stop) = (Worker::new(server.app.clone(), 2), CancellationToken::new());
        let working = stop.clone();
        Self { stop, task: tokio::spawn(async move { worker.work(working).await }) }
    }

    async fn stop(self) {
        self.stop.cancel();
        timeout(TIMEOUT, self.task).await.expect("the worker stops").unwrap();
    }
}

async fn create(server: &TestServer, team: &Team, model: &str) -> Value {
    create_with(server, team, model, "Replace \"minute\" with \"moment\".").await
}

async fn create_with(server: &TestServer, team: &Team, model: &str, prompt: &str) -> Value {
    let path = format!("/v2/agent/{}/job", team.project.id);
    let answer = server.post(&team.key, &path, &json!({ "prompt": prompt, "model": model })).await;
    assert_eq!(answer.status, 201, "{answer}");
    answer.json()
}

async fn wait_until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// The calls to the stalled model that run, and that wait for their turn.
fn calls(server: &TestServer) -> (usize, usize) {
    let calls = server.app.models.calls("stalled").unwrap();
    (calls.in_use(), calls.waiting())
}

async fn wait_for_calls(server: &TestServer, expected: (usize, usize)) {
    wait_until(&format!("{expected:?} calls"), async || calls(server) == expected).await;
}

async fn wait_for_end(server: &TestServer, team: &Team, job: &Value) {
    wait_until("the job ends", async || server.job(team, &job["id"]).await["status"] != "active").await;
    assert_eq!(server.job(team, &job["id"]).await["status"], "completed");
}

/// Jobs of another project run to their end while `server`'s workers have stalled jobs. Each makes its own change: equal
/// ones wait for each other.
async fn run_other_jobs(server: &TestServer, providers: &Providers) {
    let other = server.team("globex", &DOCS).await;
    let mut jobs = Vec::new();
    for n in 0..5 {
        let prompt = format!("Replace \"minute\" with \"moment{n}\".");
        jobs.push(create_with(server, &other, "offline", &prompt).await);
    }
    for n in 0..3 {
        providers.quick.say(edit("a minute", &format!("a quick moment{n}")));
        providers.quick.say(finish("Say a moment"));
        let job = create(server, &other, "quick").await;
        wait_for_end(server, &other, &job).await;
    }
    for job in &jobs {
        wait_for_end(server, &other, job).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_model_delays_no_other_job() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 16)).await;
    let team = server.team("acme", &DOCS).await;
    for _ in 0..STALLED {
        create(&server, &team, "stalled").await;
    }
    let worker = RunningWorker::start(&server);
    // A quarter of the model's 16 slots is left to other projects.
    wait_for_calls(&server, (12, STALLED - 12)).await;
    run_other_jobs(&server, &providers).await;
    assert_eq!(calls(&server), (12, STALLED - 12), "they still wait");
    wait_until("no local work", async || server.app.local_work.in_use() == 0).await;
    worker.stop().await;
    assert_eq!(server.app.jobs.counts().await.unwrap().running, 0, "all jobs are back in the queue");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_stalled_model_delays_no_other_job_of_two_servers_on_postgres() {
    let (database, keys, providers) =
        (Database::create(), tempfile::tempdir().unwrap(), Providers::start().await);
    let server = serve_with(&database, &keys, |settings| providers.configure(settings, 16)).await;
    let peer = serve_with(&database, &keys, |settings| providers.configure(settings, 16)).await;
    let team = server.team("acme", &DOCS).await;
    for _ in 0..STALLED {
        create(&server, &team, "stalled").await;
    }
    let workers = [&server, &peer].map(RunningWorker::start);
    wait_until("all jobs wait", async || {
        let ((running, waiting), (running_there, waiting_there)) = (calls(&server), calls(&peer));
        running + waiting + running_there + waiting_there == STALLED
    })
    .await;
    run_other_jobs(&server, &providers).await;
    for worker in workers {
        worker.stop().await;
    }
    assert_eq!(server.app.jobs.counts().await.unwrap().running, 0, "all jobs are back in the queue");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_archive_of_a_waiting_job_frees_its_slot() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 1)).await;
    let team = server.team("acme", &DOCS).await;
    let worker = RunningWorker::start(&server);
    let calling = create(&server, &team, "stalled").await;
    wait_for_calls(&server, (1, 0)).await;
    let [next, waiting] = [create(&server, &team, "stalled").await, create(&server, &team, "stalled").await];
    wait_for_calls(&server, (1, 2)).await;
    for (job, left) in [(&waiting, (1, 1)), (&calling, (1, 0)), (&next, (0, 0))] {
        let archived = server.ask(&team, job, "archive", &json!({})).await;
        assert_eq!((archived.status, &archived.json()["status"]), (200, &json!("archived")), "{archived}");
        wait_for_calls(&server, left).await;
    }
    assert_eq!(
        providers.stalled.sent().len(),
        2,
        "the second job called the model after the first was archived"
    );
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_jobs_in_flight_of_a_killed_worker_are_leased_again() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 4)).await;
    let team = server.team("acme", &DOCS).await;
    let mut jobs = Vec::new();
    for _ in 0..10 {
        jobs.push(create(&server, &team, "stalled").await);
    }
    let killed = RunningWorker::start(&server);
    wait_for_calls(&server, (3, 7)).await;
    killed.task.abort();
    wait_for_calls(&server, (0, 0)).await;

    server.clock.advance(LEASE + SignedDuration::from_millis(1));
    let worker = RunningWorker::start(&server);
    wait_for_calls(&server, (3, 7)).await;
    for job in &jobs {
        let events = server.events(&team, &job["id"]).await;
        let started = events.iter().rfind(|event| event["type"] == "started").unwrap();
        assert_eq!(started["attempt"], 2);
    }
    worker.stop().await;
}

/// A call can be what kills a worker, and the jobs that called their models at the same time are suspects, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_calls_kill_its_workers_is_given_up_and_the_jobs_beside_it_are_not() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 4)).await;
    let team = server.team("acme", &DOCS).await;
    let killer = create(&server, &team, "stalled").await;
    let [first, second] = [create(&server, &team, "quick").await, create(&server, &team, "quick").await];
    for deaths in 1..=2 {
        let killed = RunningWorker::start(&server);
        wait_until("all of them call", async || {
            (providers.stalled.sent().len(), providers.quick.sent().len()) == (deaths, 2 * deaths)
        })
        .await;
        killed.task.abort();
        assert!(killed.task.await.unwrap_err().is_cancelled());
        server.clock.advance(LEASE);
    }
    for n in 0..2 {
        providers.quick.say(edit("a minute", &format!("a quick moment{n}")));
        providers.quick.say(finish("Say a moment"));
    }
    let (mut calls, mut is_over) = (2, false);
    while !is_over {
        let worker = Worker::new(server.app.clone(), 2);
        worker.drain().await.unwrap();
        server.clock.advance(store::MIN_WORKER_AGE);
        let working = tokio::spawn(async move { worker.drain().await.unwrap() });
        wait_until("all jobs end, or the killer calls", async || {
            working.is_finished() || providers.stalled.sent().len() > calls
        })
        .await;
        (calls, is_over) = (providers.stalled.sent().len(), working.is_finished());
        working.abort();
        let _ = working.await;
        server.clock.advance(LEASE);
    }
    assert_eq!(calls, 3, "three workers died");
    let killer = server.job(&team, &killer["id"]).await;
    assert_eq!(killer["status"], "failed", "{killer}");
    for job in [&first, &second] {
        assert_eq!(server.job(&team, &job["id"]).await["status"], "completed");
    }
}

/// The others end their calls first, and wait then. A call that fails ends that, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspect_calls_its_model_alone() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 4)).await;
    let team = server.team("acme", &DOCS).await;
    let suspect = create(&server, &team, "quick").await;
    for deaths in 1..=2 {
        let killed = RunningWorker::start(&server);
        wait_until("it calls", async || providers.quick.sent().len() == deaths).await;
        killed.task.abort();
        let _ = killed.task.await;
        server.clock.advance(LEASE);
    }
    Worker::new(server.app.clone(), 1).drain().await.unwrap(); // returns it to the queue
    server.clock.advance(store::MAX_SUSPECT_WAIT);
    let calling = create(&server, &team, "stalled").await;
    let worker = RunningWorker::start(&server);
    wait_for_calls(&server, (1, 0)).await;
    server.clock.advance(store::MIN_WORKER_AGE);
    let has_third_attempt =
        async || server.events(&team, &suspect["id"]).await.iter().any(|event| event["attempt"] == 3);
    wait_until("the suspect is leased", has_third_attempt).await;
    let other = create(&server, &team, "offline").await;
    for _ in 0..50 {
        assert_eq!(server.job(&team, &other["id"]).await["status"], "active", "it waits, too");
    }
    assert_eq!(providers.quick.sent().len(), 2, "the other call has not ended");

    providers.quick.say(Turn::Status(503, "busy"));
    providers.quick.say(edit("a minute", "a quick moment"));
    providers.quick.say(finish("Say a moment"));
    let archived = server.ask(&team, &calling, "archive", &json!({})).await;
    assert_eq!(archived.status, 200, "{archived}");
    wait_for_end(&server, &team, &suspect).await;
    wait_for_end(&server, &team, &other).await;
    worker.stop().await;
}

/// Two workers die during the call of a new job. Then another worker runs the job alone.
async fn call_as_suspect(
    server: &TestServer,
    team: &Team,
    model: &str,
    provider: &FakeProvider,
) -> (Value, RunningWorker) {
    let suspect = create(server, team, model).await;
    for deaths in 1..=2 {
        let killed = RunningWorker::start(server);
        wait_until("it calls", async || provider.sent().len() == deaths).await;
        killed.task.abort();
        let _ = killed.task.await;
        server.clock.advance(LEASE);
    }
    let worker = RunningWorker::start(server);
    // The worker has started when it has run another job.
    let first = create(server, team, "offline").await;
    wait_for_end(server, team, &first).await;
    server.clock.advance(store::MIN_WORKER_AGE);
    wait_until("it calls alone", async || provider.sent().len() == 3).await;
    (suspect, worker)
}

/// A suspect is alone only for the first seconds of its call. A death after that still counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspect_with_a_stalled_model_delays_no_other_job() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 4)).await;
    let (team, other) = (server.team("acme", &DOCS).await, server.team("initech", &DOCS).await);
    let (suspect, worker) = call_as_suspect(&server, &team, "stalled", &providers.stalled).await;
    let called_at = Instant::now();
    let job = create(&server, &other, "offline").await;
    wait_for_end(&server, &other, &job).await;
    assert!(called_at.elapsed() > Duration::from_secs(4), "it is alone at first");
    run_other_jobs(&server, &providers).await;
    assert_eq!(server.job(&team, &suspect["id"]).await["status"], "active", "it still waits");

    worker.task.abort();
    let _ = worker.task.await;
    server.clock.advance(LEASE);
    Worker::new(server.app.clone(), 1).drain().await.unwrap();
    assert_eq!(server.job(&team, &suspect["id"]).await["status"], "failed", "three workers died");
    assert_eq!(providers.stalled.sent().len(), 3);
}

/// It doesn't wait for the calls that began meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspect_continues_when_a_late_answer_arrives() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| providers.configure(settings, 4)).await;
    let team = server.team("acme", &DOCS).await;
    for _ in 0..2 {
        providers.quick.say(Turn::Silence);
    }
    providers.quick.say(Turn::Late(Duration::from_secs(8), Box::new(edit("a minute", "a late moment"))));
    providers.quick.say(finish("Say a moment"));
    let (suspect, worker) = call_as_suspect(&server, &team, "quick", &providers.quick).await;
    create(&server, &team, "stalled").await;
    wait_for_calls(&server, (1, 0)).await;
    assert_eq!(providers.quick.sent().len(), 3, "its call has not ended");
    wait_for_end(&server, &team, &suspect).await;
    assert_eq!(calls(&server), (1, 0), "the other call has not ended");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_leases_no_more_jobs_than_may_be_in_flight() {
    let providers = Providers::start().await;
    let server = TestServer::start_with(|settings| {
        providers.configure(settings, 2);
        settings.jobs_in_flight = 8;
    })
    .await;
    let (team, other) = (server.team("acme", &DOCS).await, server.team("globex", &DOCS).await);
    for _ in 0..10 {
        create(&server, &team, "stalled").await;
    }
    let worker = RunningWorker::start(&server);
    // One project gets a quarter.
    wait_for_calls(&server, (2, 0)).await;
    let job = create(&server, &other, "offline").await;
    wait_for_end(&server, &other, &job).await;
    assert_eq!(server.app.jobs.counts().await.unwrap().running, 2);
    worker.stop().await;
}
