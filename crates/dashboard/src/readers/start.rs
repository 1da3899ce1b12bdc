//! What somebody sees who has no readers yet: three ways to have some, each to copy.

use crate::session::InProject;
use crate::view::{NoReaders, Section};
use app::App;

pub(super) fn page(app: &App, at: &InProject) -> NoReaders {
    let (base, id) = (&app.public_url, &at.project.id);
    let allow = || format!("docwright project update {id} --site https://docs.example.com");
    NoReaders {
        shell: at.shell("Readers", Section::Readers),
        snippet: format!("<script defer src=\"{base}/js/docwright.js\" data-project=\"{id}\"></script>"),
        allow: at.project.sites.is_empty().then(allow),
        import: format!(
            "DOCWRIGHT_URL={base} DOCWRIGHT_API_KEY=dw_… docwright import {id} /var/log/nginx/access.log*"
        ),
        curl: format!(
            "curl -X POST {base}/v1/analytics/{id}/events -H \"Authorization: Bearer dw_…\" \
             -H \"Content-Type: application/json\" -d '[{{\"path\":\"/quickstart\",\"userAgent\":\"Mozilla/5.0\"}}]'"
        ),
    }
}
