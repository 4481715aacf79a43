// Draws the crash matrices and the histogram of recovery times in the browser, from `shown`.
/* global Chart, shown, document, navigator */
const FAST_MS = 1000
const SLOW_MS = 5000
const tip = document.getElementById('tip')

for (const frame of document.querySelectorAll('.matrix')) {
  if (frame.open) drawMatrix(frame)
  frame.addEventListener('toggle', () => drawMatrix(frame))
}
drawRecovery()

/** Draws the matrix when it is first opened: it has many cells, and most are never opened. */
function drawMatrix(frame) {
  if (!frame.open || frame.querySelector('table') !== null) return
  const matrix = shown.matrices[frame.dataset.matrix]
  const scroll = document.createElement('div')
  scroll.className = 'scroll'
  scroll.append(tableOf(matrix))
  frame.append(scroll)
}

function tableOf(matrix) {
  const { points, faults } = matrix
  const cells = new Map(matrix.cells.map((cell) => [`${cell.point} ${cell.fault}`, cell]))
  const table = document.createElement('table')
  const head = table.createTHead().insertRow()
  head.append(document.createElement('th'), ...faults.map(headOf))
  const body = table.createTBody()
  points.forEach((point, row) => {
    const line = body.insertRow()
    const name = document.createElement('th')
    name.textContent = point
    line.append(name)
    faults.forEach((_, column) => fill(line.insertCell(), matrix, cells.get(`${row} ${column}`)))
  })
  return table
}

function headOf(fault) {
  const head = document.createElement('th')
  const text = document.createElement('span')
  text.textContent = fault
  head.append(text)
  return head
}

function fill(td, matrix, cell) {
  td.className = classOf(cell)
  if (cell === undefined) return
  if (cell.state === 'violated') td.textContent = '×'
  const label = `${matrix.scenario}:${matrix.faults[cell.fault]}@${matrix.points[cell.point]}`
  td.dataset.label = label
  td.addEventListener('mouseenter', (event) => show(event, label, cell))
  td.addEventListener('mouseleave', () => {
    tip.hidden = true
  })
  td.addEventListener('click', () => copy(`npm run faults -- --case '${label}'`))
}

function classOf(cell) {
  if (cell === undefined) return 'none'
  if (cell.state === 'missed') return 'missed-point'
  if (cell.state === 'violated') return 'violated'
  if (cell.recoveryMs !== null && cell.recoveryMs < FAST_MS) return 'passed fast'
  return cell.recoveryMs === null || cell.recoveryMs >= SLOW_MS ? 'passed slow' : 'passed'
}

function show({ clientX, clientY }, label, { recoveryMs, detail }) {
  const name = document.createElement('b')
  name.textContent = label
  const recovery =
    recoveryMs === null ? 'not recovered' : `recovered in ${Math.round(recoveryMs)} ms`
  tip.replaceChildren(name, document.createElement('br'), `${recovery}: ${detail}`)
  tip.hidden = false
  const { width, height } = tip.getBoundingClientRect()
  const { clientWidth, clientHeight } = document.documentElement
  tip.style.left = `${Math.max(8, Math.min(clientX + 14, clientWidth - width - 8))}px`
  const below = clientY + 16 + height < clientHeight
  tip.style.top = `${below ? clientY + 16 : Math.max(8, clientY - height - 12)}px`
}

function copy(command) {
  // A page that was opened from a file may lack the permission.
  navigator.clipboard?.writeText(command).then(
    () => tip.append(document.createElement('br'), 'copied'),
    () => tip.append(document.createElement('br'), command),
  )
}

function drawRecovery() {
  return new Chart(document.getElementById('recovery'), {
    type: 'bar',
    data: {
      labels: shown.recovery.labels,
      datasets: [{ data: shown.recovery.runs, backgroundColor: '#3b6fd4' }],
    },
    options: {
      maintainAspectRatio: false,
      animation: false,
      plugins: { legend: { display: false } },
      scales: {
        x: { ticks: { maxRotation: 0 } },
        y: { title: { display: true, text: 'runs' }, beginAtZero: true, ticks: { precision: 0 } },
      },
    },
  })
}
