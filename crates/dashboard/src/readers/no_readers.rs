//! Shows a project without views three ways to send views, with commands to copy.

use crate::session::ProjectContext;
use crate::view::{NoReaders, Section};
use app::App;
use store::Project;

pub(super) fn no_readers_page(app: &App, ctx: &ProjectContext) -> NoReaders {
    let (base, id) = (&app.public_url, &ctx.project.id);
    let allow = || format!("docwright project update {id} --site https://docs.example.com");
    NoReaders {
        shell: ctx.shell("Readers", Section::Readers),
        snippet: format!("<script defer src=\"{base}/js/docwright.js\" data-project=\"{id}\"></script>"),
        allow: ctx.project.sites.is_empty().then(allow),
        import: import_command(app, &ctx.project),
        curl: format!(
            "curl -X POST {base}/v1/analytics/{id}/events -H \"Authorization: Bearer dw_…\" \
             -H \"Content-Type: application/json\" -d '[{{\"path\":\"/quickstart\",\"userAgent\":\"Mozilla/5.0\"}}]'"
        ),
    }
}

/// The command that imports the log of a web server.
pub(crate) fn import_command(app: &App, project: &Project) -> String {
    let (base, id) = (&app.public_url, &project.id);
    format!("DOCWRIGHT_URL={base} DOCWRIGHT_API_KEY=dw_… docwright import {id} /var/log/nginx/access.log*")
}
