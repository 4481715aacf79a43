// Draws a line plot as SVG, for a document: it needs no script.
import { escape, type Plot } from '../page.ts'

const [WIDTH, HEIGHT] = [640, 300]
const MARGIN = { left: 64, right: 150, top: 34, bottom: 44 }
const COLORS = ['#1f6feb', '#d1242f', '#1a7f37', '#9a6700']
const TICKS = 4

/** The labels are at equal distances: they are levels, not a scale. */
export function renderSvg({ title, labels, across, lines }: Plot): string {
  const highest = Math.max(
    1e-9,
    ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)),
  )
  const right = WIDTH - MARGIN.right
  const bottom = HEIGHT - MARGIN.bottom
  const x = (index: number) =>
    MARGIN.left + ((right - MARGIN.left) * index) / Math.max(1, labels.length - 1)
  const y = (value: number) => bottom - ((bottom - MARGIN.top) * value) / highest
  const ticks = Array.from({ length: TICKS + 1 }, (_, tick) => (highest * tick) / TICKS)
  const grid = ticks.map(
    (value) =>
      `<path d="M${MARGIN.left} ${y(value).toFixed(1)}H${right}" stroke="#d0d7de"/>` +
      text(
        [MARGIN.left - 6, y(value) + 4],
        Number(value.toPrecision(3)).toLocaleString('en'),
        'end',
      ),
  )
  const drawn = lines.map(({ name, values }, index) => {
    const color = COLORS[index % COLORS.length] ?? 'black'
    const points = values.flatMap((value, at) =>
      value === null ? [] : [`${x(at).toFixed(1)},${y(value).toFixed(1)}`],
    )
    const top = MARGIN.top + 10 + 20 * index
    return (
      `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>` +
      `<path d="M${right + 12} ${top}h18" stroke="${color}" stroke-width="2"/>` +
      text([right + 36, top + 4], name, 'start')
    )
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text([(MARGIN.left + right) / 2, 18], title),
    ...grid,
    ...labels.map((label, index) => text([x(index), bottom + 18], String(label))),
    text([(MARGIN.left + right) / 2, HEIGHT - 8], across),
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

function text(at: readonly [number, number], words: string, anchor = 'middle'): string {
  const [x, y] = at.map((value) => value.toFixed(1))
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escape(words)}</text>`
}
