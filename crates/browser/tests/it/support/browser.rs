//! Drives a browser as a person does, and checks that it sends requests only to the site.

use std::mem::ManuallyDrop;
use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::extensions::query::{ElementQueryable, ElementWaitable};
use thirtyfour::{By, Capabilities, Key, WebDriver, WebElement};

use super::driver::{self, Driver};
use super::requests::Requests;
use super::site::Site;

/// Longer than any page takes on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A screen size and a color scheme.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) name: &'static str,
    width: u32,
    height: u32,
    scheme: &'static str,
}

impl Look {
    pub(crate) const LIGHT: Self = Self { name: "light", width: 1280, height: 900, scheme: "light" };
    pub(crate) const DARK: Self = Self { name: "dark", width: 1280, height: 900, scheme: "dark" };
    pub(crate) const PHONE: Self = Self { name: "phone", width: 390, height: 844, scheme: "light" };
    pub(crate) const ALL: [Self; 3] = [Self::LIGHT, Self::DARK, Self::PHONE];
}

pub(crate) struct Browser<'a> {
    /// Never closed, because that would block the server on the same thread. [`Driver`] ends it.
    driver: ManuallyDrop<WebDriver>,
    site: &'a Site,
    _driver: Driver,
}

impl<'a> Browser<'a> {
    pub(crate) async fn start(site: &'a Site) -> Self {
        Self::start_with(site, true).await
    }

    pub(crate) async fn start_with(site: &'a Site, javascript: bool) -> Self {
        let running = Driver::start();
        let mut capabilities = Capabilities::new();
        capabilities.set("browserName", json!("chrome")).unwrap();
        capabilities.set("goog:chromeOptions", running.options(javascript)).unwrap();
        capabilities.set("goog:loggingPrefs", json!({ "performance": "ALL" })).unwrap();
        let driver = WebDriver::new(running.url.clone(), capabilities).await.unwrap();
        Self { driver: ManuallyDrop::new(driver), site, _driver: running }
    }

    pub(crate) async fn signed_in(site: &'a Site) -> Self {
        let browser = Self::start(site).await;
        browser.sign_in().await;
        browser
    }

    /// Opens a login link, and clicks its button.
    pub(crate) async fn sign_in(&self) {
        self.open(&self.site.login_link().await).await;
        self.click("main button").await;
        self.see(".projects").await;
    }

    pub(crate) async fn open(&self, path: &str) {
        self.driver.goto(format!("{}{path}", self.site.url)).await.unwrap();
    }

    /// Opens a page of another site.
    pub(crate) async fn visit(&self, url: &str) {
        self.driver.goto(url).await.unwrap();
    }

    /// The path of the current page.
    pub(crate) async fn path(&self) -> String {
        self.driver.current_url().await.unwrap().path().to_owned()
    }

    /// Waits for an element.
    pub(crate) async fn see(&self, selector: &str) -> WebElement {
        let query = self.driver.query(By::Css(selector)).wait(WAIT_TIMEOUT, POLL_INTERVAL);
        match query.first().await {
            Ok(element) => element,
            Err(_) => panic!("no {selector} on {}: {}", self.path().await, self.text().await),
        }
    }

    /// Waits for an element that contains this text.
    pub(crate) async fn read(&self, selector: &str, words: &str) {
        let query = self
            .driver
            .query(By::Css(selector))
            .with_text(partial_match(words))
            .wait(WAIT_TIMEOUT, POLL_INTERVAL);
        if query.first().await.is_err() {
            panic!("no {selector} contains {words:?} on {}: {}", self.path().await, self.text().await);
        }
    }

    /// After a link or a button, waits for the next page, because the old page may contain what the test looks for next.
    pub(crate) async fn click(&self, selector: &str) {
        let element = self.see(selector).await;
        element.wait_until().wait(WAIT_TIMEOUT, POLL_INTERVAL).clickable().await.unwrap();
        let opens_page = ["a", "button"].contains(&element.tag_name().await.unwrap().as_str());
        let page = self.see("html").await;
        element.click().await.unwrap();
        if opens_page {
            page.wait_until().wait(WAIT_TIMEOUT, POLL_INTERVAL).stale().await.unwrap();
        }
    }

    pub(crate) async fn write(&self, selector: &str, words: &str) {
        self.see(selector).await.send_keys(words).await.unwrap();
    }

    /// Replaces the text of a field.
    pub(crate) async fn rewrite(&self, selector: &str, words: &str) {
        self.see(selector).await.clear().await.unwrap();
        self.write(selector, words).await;
    }

    /// The current number of elements.
    pub(crate) async fn count(&self, selector: &str) -> usize {
        self.driver.find_all(By::Css(selector)).await.unwrap().len()
    }

    /// The number of elements in the page's only frame.
    pub(crate) async fn count_in_frame(&self, selector: &str) -> usize {
        self.driver.enter_frame(0).await.unwrap();
        self.count(selector).await
    }

    /// Waits until there is no such element.
    pub(crate) async fn wait_until_gone(&self, selector: &str) {
        let query = self.driver.query(By::Css(selector)).wait(WAIT_TIMEOUT, POLL_INTERVAL);
        assert!(query.not_exists().await.unwrap(), "{selector} stays on {}", self.path().await);
    }

    pub(crate) async fn cookie(&self, name: &str) -> Value {
        serde_json::to_value(self.driver.get_named_cookie(name).await.unwrap()).unwrap()
    }

    /// Presses Tab until the element has the focus.
    pub(crate) async fn tab_to(&self, selector: &str) -> WebElement {
        for _ in 0..60 {
            let focused = self.driver.active_element().await.unwrap();
            if self.is(&focused, selector).await {
                return focused;
            }
            self.press(Key::Tab).await;
        }
        panic!("60 presses of Tab do not lead to {selector} on {}", self.path().await);
    }

    pub(crate) async fn press(&self, key: Key) {
        self.driver.action_chain().send_keys(key).perform().await.unwrap();
    }

    pub(crate) async fn text(&self) -> String {
        self.driver.find(By::Css("body")).await.unwrap().text().await.unwrap()
    }

    /// Runs a script in the page, and returns its result.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.ask_with(script, Vec::new()).await
    }

    pub(super) async fn ask_with(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.driver.execute(script, arguments).await.unwrap().json().clone()
    }

    /// Sets the screen size and the color scheme.
    pub(crate) async fn set_look(&self, look: Look) {
        let feature = json!({ "name": "prefers-color-scheme", "value": look.scheme });
        let media = json!({ "features": [feature] });
        self.send_command("Emulation.setEmulatedMedia", media).await;
        let screen =
            json!({ "width": look.width, "height": look.height, "deviceScaleFactor": 1, "mobile": false });
        self.send_command("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// Saves a screenshot of the whole page.
    pub(crate) async fn screenshot(&self, name: &str, look: Look) {
        let whole = json!({ "captureBeyondViewport": true, "format": "png" });
        let picture = self.send_command("Page.captureScreenshot", whole).await;
        let folder = driver::screenshots();
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = base64::Engine::decode(
            &base64::engine::general_purpose::STANDARD,
            picture["data"].as_str().unwrap(),
        );
        std::fs::write(folder.join(format!("{name}-{}.png", look.name)), bytes.unwrap()).unwrap();
    }

    /// The violations that axe finds, one per line.
    pub(crate) async fn violations(&self) -> Vec<String> {
        let axe = std::fs::read_to_string(driver::axe()).unwrap();
        self.driver.execute(axe, Vec::new()).await.unwrap();
        let run = "const done = arguments[0];
            axe.run({ resultTypes: ['violations'] }).then((found) => done(found.violations.flatMap((rule) =>
                rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.failureSummary}`))));";
        let found = self.driver.execute_async(run, Vec::new()).await.unwrap();
        found.convert().unwrap()
    }

    /// The bytes received since the last call. Fails if a request went to another site.
    pub(crate) async fn transferred(&self) -> u64 {
        let requests = Requests::since(&self.driver).await;
        let own = format!("{}/", self.site.url);
        let strays: Vec<_> = requests.urls.values().filter(|url| !url.starts_with(&own)).collect();
        assert!(strays.is_empty(), "{strays:?}");
        requests.transferred
    }

    pub(crate) async fn clear_cache(&self) {
        self.send_command("Network.clearBrowserCache", json!({})).await;
    }

    async fn send_command(&self, command: &str, details: Value) -> Value {
        self.driver.cdp().send_raw(command, details).await.unwrap()
    }

    async fn is(&self, element: &WebElement, selector: &str) -> bool {
        let arguments = vec![element.to_json().unwrap(), json!(selector)];
        self.ask_with("return arguments[0].matches(arguments[1])", arguments).await == true
    }
}

fn partial_match(words: &str) -> thirtyfour::stringmatch::StringMatch {
    thirtyfour::stringmatch::StringMatch::new(words).partial()
}
