// Copy buttons. Pages work without this script: the buttons stay hidden, and a click on the text selects it.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!source) continue;
  const name = source.getAttribute("aria-label");
  const setLabel = (label) => {
    button.textContent = label;
    button.setAttribute("aria-label", `${label}: ${name}`);
  };
  setLabel("Copy");
  button.hidden = false;
  button.addEventListener("click", async () => {
    setLabel((await copy(source)) ? "Copied" : "Press Ctrl+C");
    setTimeout(setLabel, 2000, "Copy");
  });
}

// Over plain HTTP, or if the browser refuses, there is no clipboard. Then only the selection stays.
async function copy(source) {
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}

// A second click must not submit a form twice.
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// Settings: polls until the first page view arrives.
for (const element of document.querySelectorAll("[data-poll]")) {
  const poll = async () => {
    if (element.querySelector(".good")) return;
    try {
      const response = document.hidden ? null : await fetch(element.dataset.poll);
      if (response?.ok) element.innerHTML = await response.text();
    } catch {} // The server can be unreachable for a moment.
    setTimeout(poll, 3000);
  };
  setTimeout(poll, 3000);
}

// Readers: fetches the counts that weren't ready in time, and refreshes the live line while the page is visible.
async function replaceParts(href, parts) {
  const response = await fetch(href);
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of parts) {
    const fresh = page.getElementById(part.id);
    if (fresh) part.replaceWith(fresh);
  }
}

const late = [...document.querySelectorAll("[data-later]")];
if (late.length > 0) replaceParts(late[0].dataset.later, late).catch(() => {});
if (document.getElementById("live")) {
  setInterval(() => {
    const line = document.getElementById("live");
    if (line.dataset.again && !document.hidden) replaceParts(line.dataset.again, [line]).catch(() => {});
  }, 30_000);
}

// Jobs: when the event stream of an active job reports news, fetches the page again and takes over what changed.
// Lists grow, and other parts are replaced unless the person uses them. Without this script, the page reloads itself.
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
      await updatePage(source).catch(() => source.close());
    }
    busy = false;
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  };
}

async function updatePage(source) {
  const response = await fetch(location.href);
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  // Checked first, because the elements below are moved out of the fetched page.
  if (!page.querySelector("[data-watch]")) source.close();
  for (const item of page.querySelectorAll("[data-grow] > [id]")) {
    if (!document.getElementById(item.id)) document.getElementById(item.parentElement.id)?.append(item);
  }
  for (const part of page.querySelectorAll("[data-live]")) {
    const old = document.getElementById(part.id);
    if (old && !isInUse(old) && old.innerHTML !== part.innerHTML) old.replaceWith(part);
  }
}

function isInUse(part) {
  return part.contains(document.activeElement) || [...part.querySelectorAll("textarea")].some((field) => field.value);
}
