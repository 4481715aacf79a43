// Draws the line plots of a report in the browser, from the global `shown.plots`.
/* global Chart, shown, document */
const COLOURS = ['#3b6fd4', '#d9720b', '#2e9e6b', '#a23fb0', '#b8860b', '#c2304f']

for (const plot of shown.plots) draw(plot)

function draw({ title, labels, across, up, lines }) {
  const figure = document.createElement('figure')
  const caption = document.createElement('figcaption')
  caption.textContent = title
  const canvas = document.createElement('canvas')
  figure.append(caption, canvas)
  document.getElementById('plots').append(figure)
  return new Chart(canvas, {
    type: 'line',
    data: {
      labels,
      datasets: lines.map(({ name, values }, index) => ({
        label: name,
        data: values,
        borderColor: COLOURS[index % COLOURS.length],
        backgroundColor: COLOURS[index % COLOURS.length],
        borderWidth: 2,
        pointRadius: labels.length > 30 ? 0 : 3,
        tension: 0,
      })),
    },
    options: {
      maintainAspectRatio: false,
      animation: false,
      layout: { padding: { right: 16 } },
      plugins: { legend: { position: 'bottom' } },
      scales: {
        x: { title: { display: true, text: across }, ticks: { maxTicksLimit: 12 } },
        y: { title: { display: true, text: up }, beginAtZero: true },
      },
    },
  })
}
