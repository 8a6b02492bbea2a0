// Draws what the page's JSON says with Chart.js; the table below it says the same without script.
"use strict";

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });

// Lines instead of a plain colour: what has no price must not look like a price.
function hatched(name) {
  const tile = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour(name);
  pen.lineWidth = 2;
  for (const shift of [-4, 0, 4, 8]) {
    pen.moveTo(shift - 2, 10);
    pen.lineTo(shift + 10, -2);
  }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
}

function draw(canvas) {
  const chart = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
  const format = (value) => (chart.unit === "usd" ? money.format(value) : short.format(value));
  const values = { stacked: chart.stacked, grid: { color: colour("line") }, ticks: { color: colour("quiet"), callback: format } };
  const names = { stacked: chart.stacked, grid: { display: false }, ticks: { color: colour("quiet"), autoSkip: !chart.horizontal } };
  new Chart(canvas, {
    type: chart.kind,
    data: {
      labels: chart.labels,
      datasets: chart.series.map((series) => ({
        label: series.label,
        data: series.values,
        backgroundColor: series.hatched ? hatched(series.colour) : colour(series.colour),
        borderColor: colour(series.colour),
        borderWidth: series.hatched ? 1 : 0,
        borderRadius: 3,
        maxBarThickness: 38,
      })),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      indexAxis: chart.horizontal ? "y" : "x",
      scales: chart.horizontal ? { x: values, y: names } : { x: names, y: values },
      plugins: {
        legend: { display: chart.series.length > 1, labels: { color: colour("text"), boxWidth: 12 } },
        tooltip: {
          callbacks: { label: (item) => `${item.dataset.label}: ${format(chart.horizontal ? item.parsed.x : item.parsed.y)}` },
        },
      },
    },
  });
}

document.querySelectorAll("canvas[data-chart]").forEach(draw);
