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
