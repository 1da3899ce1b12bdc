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
      const url = location.origin + location.pathname; // a query may hold secrets
      if (document.prerendering || url === counted) return;
      counted = url;
      const body = JSON.stringify({ url, referrer: referrer.split(/[?#]/)[0] });
      referrer = url;
      // Text, so that the browser need not ask first; keepalive, so that it outlives the page.
      const door = new URL("../v1/collect/" + script.dataset.project, script.src);
      fetch(door, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(() => {});
    } catch {} // whatever it is, the page goes on
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
    counted = referrer = ""; // back from the browser's cache: read once more
    count();
  });
  document.addEventListener("prerenderingchange", count);
  count();
})();
