// Copy buttons. Pages work without this file: the buttons stay hidden, and one click on the text selects all of it.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!source) continue;
  const name = source.getAttribute("aria-label");
  const say = (word) => {
    button.textContent = word;
    button.setAttribute("aria-label", `${word}: ${name}`);
  };
  say("Copy");
  button.hidden = false;
  button.addEventListener("click", async () => {
    say((await copy(source)) ? "Copied" : "Press Ctrl+C");
    setTimeout(say, 2000, "Copy");
  });
}

// The clipboard can be missing (a plain http address) or refused; then the selection is what is left.
async function copy(source) {
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}

// A second click must not send a form again that is on its way.
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// Accounts and settings: what waits for a first page view looks again, until there is one.
for (const place of document.querySelectorAll("[data-poll]")) {
  const look = async () => {
    if (place.querySelector(".good")) return;
    try {
      const answer = document.hidden ? null : await fetch(place.dataset.poll);
      if (answer?.ok) place.innerHTML = await answer.text();
    } catch {} // the server is away for a moment
    setTimeout(look, 3000);
  };
  setTimeout(look, 3000);
}

// Readers. What was not counted in time comes as soon as it is; who reads just now is asked again while
// somebody looks.
async function take(href, parts) {
  const answer = await fetch(href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts) {
    const fresh = page.getElementById(part.id);
    if (fresh) part.replaceWith(fresh);
  }
}

const late = [...document.querySelectorAll("[data-later]")];
if (late.length > 0) take(late[0].dataset.later, late).catch(() => {});
if (document.getElementById("live")) {
  setInterval(() => {
    const line = document.getElementById("live");
    if (line.dataset.again && !document.hidden) take(line.dataset.again, [line]).catch(() => {});
  }, 30_000);
}

// Jobs. An active one tells when there is news; then the page is fetched again, and what is new in it is taken over:
// lists grow, and parts are swapped, but for one that somebody is in. Without this file the page reloads itself.
const watched = document.querySelector("[data-watch]");
if (watched) watch(new EventSource(watched.dataset.watch));

function watch(source) {
  let news = false;
  let busy = false;
  source.onmessage = async () => {
    news = true;
    if (busy) return;
    for (busy = true; news; ) {
      news = false;
      await takeOver(source).catch(() => source.close());
    }
    busy = false;
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  };
}

async function takeOver(source) {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  // Asked first: what is taken over is gone from where it was.
  if (!page.querySelector("[data-watch]")) source.close();
  for (const item of page.querySelectorAll("[data-grow] > [id]")) {
    if (!document.getElementById(item.id)) document.getElementById(item.parentElement.id)?.append(item);
  }
  for (const part of page.querySelectorAll("[data-live]")) {
    const old = document.getElementById(part.id);
    if (old && !inUse(old) && old.innerHTML !== part.innerHTML) old.replaceWith(part);
  }
}

function inUse(part) {
  return part.contains(document.activeElement) || [...part.querySelectorAll("textarea")].some((field) => field.value);
}
