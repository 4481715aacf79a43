// Draws the charts of the report in the browser, from the measurements in the global `shown`.
/* global Chart, shown, document */
const COLOURS = ['#3b6fd4', '#d9720b', '#2e9e6b']
const HEIGHT_OF_SUBJECT = 46

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

/**
 * Labels a logarithmic axis at 1, 2 and 5 of each power of ten, so that the labels do not overlap.
 */
const plainTick = (value) =>
  /^[125]0*$|^0?\.0*[125]$/.test(String(value)) ? value.toLocaleString('en') : ''

const draw = (id, datasets, axis) => {
  document.getElementById(id).parentElement.style.height =
    `${measured.length * HEIGHT_OF_SUBJECT}px`
  return new Chart(document.getElementById(id), {
    type: 'bar',
    data: {
      labels,
      datasets: datasets.map((set, index) => ({ ...set, backgroundColor: COLOURS[index] })),
    },
    options: {
      indexAxis: 'y',
      maintainAspectRatio: false,
      animation: false,
      layout: { padding: { right: 24 } },
      scales: {
        x:
          axis.type === 'logarithmic'
            ? { ...axis, ticks: { callback: plainTick, maxRotation: 0, autoSkip: false } }
            : axis,
        y: { ticks: { autoSkip: false, color: '#1d2433' } },
      },
    },
  })
}

draw(
  'throughput',
  concurrencies.map((clients) => ({
    label: clients === 1 ? 'one client' : `${clients} clients`,
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
