// Draws the charts of the report, in the browser: `shown` is what was measured.
/* global Chart, shown, document */
const COLOURS = ['#3b6fd4', '#e08a1e', '#2e9e6b']

const measured = shown.subjects.filter(({ name }) => shown.rows.some((row) => row.subject === name))
const labels = measured.map(({ title }) => title)
const concurrencies = [...new Set(shown.rows.map((row) => row.concurrency))].toSorted(
  (a, b) => a - b,
)

const figure = (concurrency, of) =>
  measured.map(({ name }) => {
    const row = shown.rows.find((one) => one.subject === name && one.concurrency === concurrency)
    return row === undefined ? null : of(row)
  })

const draw = (id, datasets, axis) =>
  new Chart(document.getElementById(id), {
    type: 'bar',
    data: {
      labels,
      datasets: datasets.map((set, index) => ({ ...set, backgroundColor: COLOURS[index] })),
    },
    options: {
      indexAxis: 'y',
      maintainAspectRatio: false,
      animation: false,
      scales: { x: axis },
    },
  })

draw(
  'throughput',
  concurrencies.map((clients) => ({
    label: `${clients} clients`,
    data: figure(clients, (row) => row.perSecond),
  })),
  { type: 'logarithmic', title: { display: true, text: 'per second, logarithmic' } },
)
draw(
  'latency',
  ['median', 'p95', 'p99'].map((name) => ({
    label: name,
    data: figure(16, (row) => row.latencyMs[name]),
  })),
  { type: 'logarithmic', title: { display: true, text: 'ms, logarithmic' } },
)
draw(
  'cpu',
  [
    { label: 'Node', data: figure(16, (row) => row.nodeCpuMs) },
    { label: 'Postgres', data: figure(16, (row) => row.postgresCpuMs) },
  ],
  { stacked: false, title: { display: true, text: 'ms' } },
)
