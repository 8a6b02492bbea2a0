// Sliders with locks: moving one share spreads the difference over the unlocked others, in basis points.
"use strict";

const WHOLE = 10000;

function shares() {
  return [...document.querySelectorAll("[data-share]")];
}

function sliderOf(input) {
  return document.querySelector(`[data-slides="${CSS.escape(input.id)}"]`);
}

function isLocked(input) {
  return document.querySelector(`[data-locks="${CSS.escape(input.id)}"]`)?.checked === true;
}

function percent(basisPoints) {
  return `${(basisPoints / 100).toFixed(basisPoints % 100 ? 2 : 0)} %`;
}

function showSum() {
  const sum = shares().reduce((total, input) => total + (Number.parseInt(input.value, 10) || 0), 0);
  const line = document.getElementById("share-sum");
  line.querySelector("output").textContent = percent(sum);
  for (const input of shares()) {
    const shown = document.querySelector(`[data-shows="${CSS.escape(input.id)}"]`);
    if (shown) shown.textContent = percent(Number.parseInt(input.value, 10) || 0);
  }
  line.classList.toggle("over", sum > WHOLE);
}

// Largest parts lose most; what rounding leaves goes to the largest of them.
function spread(difference, others) {
  const open = others.filter((input) => !isLocked(input));
  const weight = open.reduce((total, input) => total + Number(input.value), 0);
  if (open.length === 0 || weight === 0) return;
  let left = difference;
  for (const input of open) {
    const part = Math.trunc((difference * Number(input.value)) / weight);
    const value = Math.max(0, Number(input.value) - part);
    left -= Number(input.value) - value;
    input.value = value;
  }
  const largest = open.reduce((best, input) => (Number(input.value) > Number(best.value) ? input : best));
  largest.value = Math.max(0, Number(largest.value) - left);
}

function onSlide(slider) {
  const input = document.getElementById(slider.dataset.slides);
  const difference = Number(slider.value) - Number(input.value);
  input.value = slider.value;
  spread(difference, shares().filter((other) => other !== input));
  for (const other of shares()) sliderOf(other).value = other.value;
  showSum();
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-slides]")) onSlide(event.target);
  else if (event.target.matches("[data-share]")) {
    sliderOf(event.target).value = event.target.value;
    showSum();
  }
});
