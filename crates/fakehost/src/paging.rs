//! Splits lists into pages, with the `Link` header of the hosts.

use axum::http::Uri;

pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) number: usize,
    pub(crate) size: usize,
    pub(crate) total: usize,
    pub(crate) pages: usize,
    /// The `Link` header; empty for a single page.
    pub(crate) link: String,
}

/// The page that the query selects. `size_name` is the host's name for the page size parameter.
pub(crate) fn page<T>(
    all: Vec<T>,
    base: &str,
    uri: &Uri,
    size_name: &str,
    size: usize,
    max_size: usize,
) -> Page<T> {
    let query: Vec<_> = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).collect();
    let parameter = |name: &str| query.iter().find(|(key, _)| key == name)?.1.parse::<usize>().ok();
    let number = parameter("page").unwrap_or(1).max(1);
    let size = parameter(size_name).unwrap_or(size).clamp(1, max_size);
    let total = all.len();
    let pages = total.div_ceil(size).max(1);
    let address = |page: usize| {
        let mut address = form_urlencoded::Serializer::new(String::new());
        address.extend_pairs(query.iter().filter(|(key, _)| key != "page"));
        address.append_pair("page", &page.to_string());
        format!("{base}{}?{}", uri.path(), address.finish())
    };
    let mut links = Vec::new();
    if number > 1 {
        links.push(format!(r#"<{}>; rel="prev""#, address(number - 1)));
        links.push(format!(r#"<{}>; rel="first""#, address(1)));
    }
    if number < pages {
        links.push(format!(r#"<{}>; rel="next""#, address(number + 1)));
        links.push(format!(r#"<{}>; rel="last""#, address(pages)));
    }
    let items = all.into_iter().skip((number - 1).saturating_mul(size)).take(size).collect();
    Page { items, number, size, total, pages, link: links.join(", ") }
}
