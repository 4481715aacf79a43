// A line chart over time, in the colours of the page.
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import { html } from './html.js'

const HEIGHT = 160

/** What the charts show: ten minutes until now. */
export const WINDOW_SECONDS = 600

/** @typedef {{ label: string, values: number[] }} Line */

/** @param {{ title: string, times: number[], lines: Line[] }} props `times` in seconds. */
export function LineChart({ title, times, lines }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null))
  const chart = useRef(/** @type {UPlot | undefined} */ (undefined))
  const labels = lines.map(({ label }) => label).join(', ')

  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const draw = () => {
      const points = chart.current?.data ?? [[], ...lines.map(() => [])]
      chart.current?.destroy()
      chart.current = new UPlot(optionsOf(lines, element), points, element)
    }
    draw()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    const resize = new ResizeObserver(() =>
      chart.current?.setSize({ width: widthOf(element), height: HEIGHT }),
    )
    resize.observe(element)
    return () => {
      scheme.removeEventListener('change', draw)
      resize.disconnect()
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [labels])
  useEffect(() => {
    chart.current?.setData([times, ...lines.map(({ values }) => values)])
  }, [times, lines])

  const now = lines.map(({ label, values }) => `${label} ${values.at(-1) ?? 0}`).join(', ')
  return html`<figure>
    <figcaption>
      ${title}
      ${lines.map(({ label }, n) => html` <span class=${`key line-${n + 1}`}>${label}</span>`)}
    </figcaption>
    <div class="chart" ref=${place} role="img" aria-label=${`${title}. Now: ${now}.`}></div>
  </figure>`
}

/** @param {Element} element */
const widthOf = (element) => Math.max(160, Math.floor(element.clientWidth))

/** From the data itself: around a single point, uPlot would add years. @param {UPlot} chart @returns {[number, number]} */
function windowOf({ data: [times] }) {
  const last = times.at(-1) ?? Date.now() / 1_000
  return [last - WINDOW_SECONDS, last]
}

/** @param {Line[]} lines @param {Element} element @returns {UPlot.Options} */
function optionsOf(lines, element) {
  const style = getComputedStyle(element)
  const stroke = style.getPropertyValue('--quiet')
  const grid = { stroke: style.getPropertyValue('--border'), width: 1 }
  return {
    width: widthOf(element),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: windowOf },
      y: { range: (_chart, _low, high) => [0, Math.max(1, high * 1.1)] },
    },
    axes: [
      { stroke, grid, ticks: grid },
      { stroke, grid, ticks: grid, size: 45 },
    ],
    series: [
      {},
      ...lines.map(({ label }, n) => ({
        label,
        stroke: style.getPropertyValue(`--line-${n + 1}`),
        width: 2,
        points: { show: false },
      })),
    ],
  }
}
