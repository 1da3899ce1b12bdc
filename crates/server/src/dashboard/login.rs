//! Signing in by a one-time link. A GET, as link previews make it, uses nothing up.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::Token;

use super::session::{Fields, SignedIn, cookie, set_cookie};
use super::view::{Login, Section, Shell};
use super::{Oops, notice, page};
use crate::app::App;
use crate::path::query_value;

/// Nobody is signed in here, so nobody may send much.
const MAX_TOKEN_FORM: usize = 4096;

/// `GET /login?token=…`: a button.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, Oops> {
    let token = query_value(&uri, "token");
    if !app.sessions.login_works(&Token::received(&token)).await? {
        return Ok(used_up());
    }
    let shell = Shell {
        title: "Sign in".into(),
        project: None,
        current: Section::Elsewhere,
        signed_in: false,
        csrf: String::new(),
    };
    Ok(page(&Login { shell, token }))
}

/// `POST /login`: uses the link up.
pub(crate) async fn enter(State(app): State<App>, request: Request) -> Result<Response, Oops> {
    let fields = Fields::read(&app, request, MAX_TOKEN_FORM).await.map_err(Oops)?;
    let Some(session) = app.sessions.use_login(&Token::received(fields.get("token"))).await? else {
        return Ok(used_up());
    };
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, &app, Some(&session));
    Ok(response)
}

/// `POST /logout`
pub(crate) async fn leave(
    State(app): State<App>,
    _who: SignedIn,
    headers: HeaderMap,
    _checked: Fields,
) -> Result<Response, Oops> {
    if let Some(session) = cookie(&headers, &app) {
        app.sessions.end_session(&session).await?;
    }
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, &app, None);
    Ok(response)
}

fn used_up() -> Response {
    let message = "A link works once, for 15 minutes. Run `docwright login` on the server for a new one.";
    notice(StatusCode::GONE, "That link does not work any more", message)
}
