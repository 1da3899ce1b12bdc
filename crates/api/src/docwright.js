// Counts page views, without cookies. Put this on every page of the docs site:
// <script defer src="https://docwright.example.com/js/docwright.js" data-project="prj_…"></script>
(() => {
  const once = Symbol.for("docwright");
  const script = document.currentScript || document.querySelector("script[data-project]");
  if (!script || window[once]) return;
  window[once] = true;

  let counted;
  let referrer = document.referrer;
  const count = () => {
    try {
      const url = location.origin + location.pathname; // a query can contain secrets
      if (document.prerendering || url === counted) return;
      counted = url;
      // Assistants name themselves here if they send no referrer. The server keeps no other name.
      const source = referrer ? null : new URLSearchParams(location.search).get("utm_source");
      const page = source ? url + "?utm_source=" + encodeURIComponent(source) : url;
      const body = JSON.stringify({ url: page, referrer: referrer.split(/[?#]/)[0] });
      referrer = url;
      // Text needs no preflight request; with keepalive, the request outlives the page.
      const endpoint = new URL("../v1/collect/" + script.dataset.project, script.src);
      fetch(endpoint, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(() => {});
    } catch {} // an error here must not break the page
  };

  for (const name of ["pushState", "replaceState"]) {
    const original = history[name];
    history[name] = function () {
      original.apply(this, arguments);
      count();
    };
  }
  addEventListener("popstate", count);
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    counted = referrer = ""; // restored from the back/forward cache: one more view
    count();
  });
  document.addEventListener("prerenderingchange", count);
  count();
})();
