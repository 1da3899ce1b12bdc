//! Tests that the chart, the table and the lists of the readers page show the numbers of the API.

use reqwest::Client;
use serde_json::{Value, json};

use crate::support::{Browser, Site};

/// A script that reads the page: the table, the titles and heights of the bars, the list of pages, the tiles.
const READ_PAGE: &str = "
    const numbers = (row) => [...row.cells].slice(-3).map((cell) => Number(cell.textContent.replaceAll(',', '')));
    const rows = (selector) => [...document.querySelectorAll(selector + ' tbody tr')];
    const height = (step, kind) => Number(step.querySelector(`rect.${kind}`)?.getAttribute('height') ?? 0);
    const steps = [...document.querySelectorAll('.plot .step')];
    return {
        table: rows('.card details').map((row) => [row.cells[0].textContent.slice(0, 10), ...numbers(row)]),
        titles: steps.map((step) => step.querySelector('title').textContent.replace(', so far', '')),
        heights: steps.map((step) => [height(step, 'h'), height(step, 'a')]),
        pages: rows('#pages').map((row) => [row.querySelector('code').textContent, ...numbers(row)]),
        tiles: ['views', 'human', 'ai', 'visitors', 'not-found'].map((name) =>
            Number(document.querySelector(`#tile-${name} dd`).textContent.replaceAll(',', ''))),
    }";

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn chart_table_and_lists_show_the_numbers_of_the_api() {
    let site = Site::start().await;
    let key = site.send_views().await;
    let browser = Browser::signed_in(&site).await;
    browser.open(&site.page("/readers?range=30d")).await;
    browser.see("#live b").await;
    browser.wait_until_gone("[data-later]").await;
    // The footer has the query of the API.
    let footer = browser.see("footer.print code").await.text().await.unwrap();
    let query = footer.split_once("/views?").unwrap().1.to_owned();
    let api = async |what: &str| -> Value {
        let url = format!("{}/v1/analytics/{}/{what}{query}", site.url, site.project.id);
        let answer = Client::new().get(url).bearer_auth(&key).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    };
    let displayed = browser.ask(READ_PAGE).await;
    let (series, views) = (api("series?interval=day&").await, api("views?").await);
    let points = series["series"].as_array().unwrap();
    assert!(points.len() == 30 && views["totals"]["total"].as_u64().unwrap() > 600, "{views}");
    let day = |point: &Value| point["at"].as_str().unwrap()[..10].to_owned();
    let row = |point: &Value| json!([day(point), point["human"], point["ai"], point["total"]]);
    let title =
        |point: &Value| json!(format!("{}: {} human, {} AI", day(point), point["human"], point["ai"]));
    assert_eq!(displayed["table"], points.iter().map(row).collect::<Value>());
    assert_eq!(displayed["titles"], points.iter().map(title).collect::<Value>());
    assert_eq!(displayed["pages"], rows(&views["views"]));
    let totals = &views["totals"];
    let (visitors, missing) = (api("visitors?").await, api("not-found?").await);
    let others = [&visitors["totals"]["total"], &missing["totals"]["total"]];
    assert_eq!(
        displayed["tiles"],
        json!([totals["total"], totals["human"], totals["ai"], others[0], others[1]])
    );
    check_scale(points, displayed["heights"].as_array().unwrap());
    browser.transferred().await;
}

fn rows(pages: &Value) -> Value {
    let row = |page: &Value| json!([page["path"], page["human"], page["ai"], page["total"]]);
    pages.as_array().unwrap().iter().map(row).collect()
}

/// The height of every bar is proportional to its number, to half a pixel.
fn check_scale(points: &[Value], heights: &[Value]) {
    let pairs = points.iter().zip(heights).flat_map(|(point, height)| {
        [(&point["human"], &height[0]), (&point["ai"], &height[1])]
            .map(|(number, height)| (number.as_f64().unwrap(), height.as_f64().unwrap()))
    });
    let pairs: Vec<_> = pairs.collect();
    let (max_number, max_height) = pairs.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert!(max_number > 0.0 && max_height > 20.0);
    for (number, height) in pairs {
        assert!(
            (height - number * max_height / max_number).abs() < 0.5,
            "{number}: {height}, {max_number}: {max_height}"
        );
    }
}
