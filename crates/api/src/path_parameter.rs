//! Extracts parameters of the path by name.

use axum::extract::MatchedPath;
use axum::http::request::Parts;

use app::path::segment;

/// The decoded value of a parameter of the route, such as `projectId`. `None` if the route does not have it,
/// or if its bytes aren't UTF-8.
///
/// axum's `Path` fails for all parameters if one of them isn't UTF-8. The project must be known even if the
/// id of the job isn't valid, because the server checks the project first.
pub(super) fn path_parameter(parts: &Parts, name: &str) -> Option<String> {
    segment(&parts.uri, position(parts, name)?)
}

pub(super) fn has_path_parameter(parts: &Parts, name: &str) -> bool {
    position(parts, name).is_some()
}

/// The number of the path segment, counted from the empty one before the first slash.
fn position(parts: &Parts, name: &str) -> Option<usize> {
    let route = parts.extensions.get::<MatchedPath>()?.as_str();
    route
        .split('/')
        .position(|segment| segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name))
}
