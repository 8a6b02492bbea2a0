// The console's own script: nothing here is needed to read a page.
"use strict";

document.documentElement.classList.add("scripted");

const LIVE_SECONDS = 3;
const HIDDEN_SECONDS = 60;

function isTyping() {
  const at = document.activeElement;
  return at instanceof HTMLElement && at.matches("input, textarea, select, [contenteditable]");
}

// Live parts listen for "refresh" on the body; a hidden page asks rarely.
function scheduleRefresh() {
  const seconds = document.visibilityState === "visible" ? LIVE_SECONDS : HIDDEN_SECONDS;
  setTimeout(() => {
    document.body.dispatchEvent(new CustomEvent("refresh"));
    scheduleRefresh();
  }, seconds * 1000);
}

// A part that has not changed, or that somebody is using, is left alone.
document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.detail.target;
  const etag = event.detail.xhr.getResponseHeader("ETag");
  const inUse = target.contains(document.activeElement) && document.activeElement !== document.body;
  const pressed = target.querySelector("details[open], :checked:not(option)") !== null;
  if (inUse || pressed || (etag !== null && target.dataset.etag === etag)) {
    event.detail.shouldSwap = false;
    return;
  }
  if (etag !== null) target.dataset.etag = etag;
});

document.addEventListener("htmx:afterSwap", (event) => {
  showTimes(event.target);
  letScroll(event.target);
});

// What scrolls can be reached and scrolled from the keyboard.
function letScroll(root) {
  for (const box of root.querySelectorAll(".scroll, pre")) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls && box.tabIndex < 0) box.tabIndex = 0;
  }
}

// What is on the page may be old: say so, with the id that finds the reason in the log.
function sayStale(text) {
  const line = document.getElementById("stale");
  if (line === null) return;
  line.hidden = text === "";
  line.textContent = text;
}

document.addEventListener("htmx:responseError", (event) => {
  const id = event.detail.xhr.getResponseHeader("X-Request-Id") || "none";
  if (event.detail.xhr.status === 422) return;
  sayStale(`Could not load this part (${event.detail.xhr.status}, request ${id}); trying again.`);
});
document.addEventListener("htmx:sendError", () => sayStale("The server does not answer; trying again."));
document.addEventListener("htmx:afterOnLoad", (event) => {
  if (event.detail.successful) sayStale("");
});

const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const STEPS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// In the words that the server uses, so that nothing moves when the script arrives.
function since(moment) {
  const seconds = Math.round((moment - Date.now()) / 1000);
  if (Math.abs(seconds) < 5) return "just now";
  return seconds < 0 ? `${span(moment)} ago` : `in ${span(moment)}`;
}

function span(moment) {
  const seconds = Math.abs(Math.round((moment - Date.now()) / 1000));
  const [unit, size] = STEPS.find(([, length]) => seconds >= length) || STEPS[STEPS.length - 1];
  return `${Math.trunc(seconds / size)} ${unit}`;
}

// The hour is enough today; on another day it needs its date.
function clock(moment) {
  return moment.toDateString() === new Date().toDateString() ? clockTime.format(moment) : exactTime.format(moment);
}

const STYLES = { since, span, clock, exact: (moment) => exactTime.format(moment) };

function showTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    element.title = exactTime.format(moment);
    element.textContent = (STYLES[element.dataset.style] || STYLES.exact)(moment);
  }
}

let chosenRow = -1;

function moveRow(step) {
  const rows = [...document.querySelectorAll("main tbody tr[data-row]")];
  if (rows.length === 0) return;
  chosenRow = Math.min(rows.length - 1, Math.max(0, chosenRow + step));
  rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === chosenRow)));
  const link = rows[chosenRow].querySelector("a[href]");
  if (link) link.focus();
}

let prefix = "";

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping()) return;
  const sheet = document.getElementById("keys-sheet");
  if (event.key === "?" && sheet) sheet.showModal();
  else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("find")?.focus();
  } else if (event.key === "j") moveRow(1);
  else if (event.key === "k" && prefix !== "g") moveRow(-1);
  else if (prefix === "g") document.querySelector(`nav a[data-keys="g ${CSS.escape(event.key)}"]`)?.click();
  prefix = event.key === "g" ? "g" : "";
}

async function copyFrom(button) {
  const source = document.getElementById(button.dataset.copies);
  if (!source) return;
  await navigator.clipboard.writeText(source.textContent);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-opens], [data-copies], [data-checks-all]");
  if (button === null) {
    for (const open of document.querySelectorAll("details.switch[open]")) {
      if (!open.contains(event.target)) open.open = false;
    }
    return;
  }
  if (button.dataset.opens) document.getElementById(button.dataset.opens)?.showModal();
  else if (button.dataset.copies) copyFrom(button);
  else {
    const boxes = document.querySelectorAll(`input[name="${CSS.escape(button.dataset.checksAll)}"]`);
    boxes.forEach((box) => { box.checked = button.checked; });
  }
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});
document.addEventListener("keydown", onKey);

showTimes(document);
letScroll(document);
setInterval(() => showTimes(document), 20_000);
scheduleRefresh();
