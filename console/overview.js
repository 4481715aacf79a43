// The overview: what the alerts look at, as figures and charts.
import { useEffect, useState } from 'preact/hooks'
import { LineChart, WINDOW_SECONDS } from './chart.js'
import { formatSeconds, plural } from './format.js'
import { html } from './html.js'
import { Loading, ProblemNote, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { hrefOf } from './route.js'
import { Table } from './table.js'

const EVERY_MS = 2_000

/** As many as the charts show. */
const POINTS_MAX = (WINDOW_SECONDS * 1_000) / EVERY_MS

/** @typedef {{ at: number, accepted: number, completed: number, waiting: number, unknown: number }} Point */

export function Overview() {
  const overview = useResource('/admin/overview', { everyMs: EVERY_MS })
  const points = usePoints(overview.value)
  const { value } = overview
  return html`
    <h1>Overview</h1>
    ${
      value === undefined
        ? html`<${Loading} of=${overview} />`
        : html`
            <${ProblemNote} problem=${overview.problem} />
            <${Figures} overview=${value} />
            <${Charts} points=${points} />
            <${Processes} processes=${value.processes} circuits=${value.circuits} />
            <${Queues} overview=${value} />
            <p class="quiet">As of <${Time} at=${value.at} />.</p>
          `
    }
  `
}

/** Remembers the figures of this visit, because the service keeps none. @param {any} overview */
function usePoints(overview) {
  const [points, setPoints] = useState(/** @type {Point[]} */ ([]))
  useEffect(() => {
    if (overview === undefined) return
    const { rates, unfinished, unknown } = overview
    const point = {
      at: Date.parse(overview.at) / 1_000,
      accepted: rates.accepted_per_second,
      completed: rates.completed_per_second,
      waiting: unfinished.pending + unfinished.processing,
      unknown,
    }
    setPoints((before) => {
      const last = before.at(-1)
      return last !== undefined && last.at >= point.at
        ? before
        : [...before, point].slice(-POINTS_MAX)
    })
  }, [overview])
  return points
}

/** @param {{ overview: any }} props */
function Figures({ overview }) {
  const { rates, recovery, unfinished, endpoints } = overview
  const deadLetters = sum(overview.dead_letters)
  const { takeovers } = recovery
  return html`<ul class="figures">
    <${Figure}
      name="Accepted"
      value=${`${rates.accepted_per_second.toFixed(1)} /s`}
      note=${`mean of ${rates.window_seconds} s`}
    />
    <${Figure}
      name="Completed"
      value=${`${rates.completed_per_second.toFixed(1)} /s`}
      note=${`mean of ${rates.window_seconds} s`}
    />
    <${Figure}
      name="Unfinished"
      value=${unfinished.pending + unfinished.processing}
      href=${hrefOf('operations')}
      note=${`${unfinished.pending} wait, ${unfinished.processing} run; oldest ${formatSeconds(overview.oldest_unfinished_seconds)}`}
    />
    <${Figure}
      name="Unknown outcomes"
      value=${overview.unknown}
      bad=${overview.unknown > 0}
      href=${hrefOf('operations', { status: 'unknown' })}
      note=${overview.unknown > 0 ? `oldest ${formatSeconds(overview.oldest_unknown_seconds)}` : 'none'}
    />
    <${Figure}
      name="Waits for a second operator"
      value=${overview.proposed}
      bad=${overview.proposed > 0}
      href=${hrefOf('operations', { status: 'proposed' })}
      note="proposed resolutions"
    />
    <${Figure}
      name="Open findings"
      value=${overview.findings_open}
      bad=${overview.findings_open > 0}
      href=${hrefOf('findings', { status: 'open' })}
      note="need a person"
    />
    <${Figure}
      name="Dead letters"
      value=${deadLetters}
      bad=${deadLetters > 0}
      href=${hrefOf('dead-letters')}
      note="jobs out of retries"
    />
    <${Figure}
      name="Takeovers"
      value=${takeovers}
      note=${takeovers > 0 ? `last hour; median ${formatSeconds(recovery.p50_seconds)}, longest ${formatSeconds(recovery.max_seconds)}` : 'last hour'}
    />
    <${Figure}
      name="Webhook endpoints"
      value=${endpoints.paused + endpoints.disabled}
      bad=${endpoints.paused + endpoints.disabled > 0}
      href=${hrefOf('webhooks')}
      note=${`${endpoints.paused} paused, ${endpoints.disabled} disabled`}
    />
  </ul>`
}

/** @param {{ name: string, value: unknown, note: string, href?: string, bad?: boolean }} props */
function Figure({ name, value, note, href, bad = false }) {
  return html`<li class=${bad ? 'figure bad' : 'figure'}>
    <span class="name">${href === undefined ? name : html`<a href=${href}>${name}</a>`}</span>
    <span class="value">${value}</span>
    <span class="quiet">${note}</span>
  </li>`
}

/** @param {{ points: Point[] }} props */
function Charts({ points }) {
  const times = points.map(({ at }) => at)
  return html`<div class="charts">
    <${LineChart}
      title="Operations per second"
      times=${times}
      lines=${[
        { label: 'accepted', values: points.map(({ accepted }) => accepted) },
        { label: 'completed', values: points.map(({ completed }) => completed) },
      ]}
    />
    <${LineChart}
      title="Operations without a final answer"
      times=${times}
      lines=${[
        { label: 'unfinished', values: points.map(({ waiting }) => waiting) },
        { label: 'unknown', values: points.map(({ unknown }) => unknown) },
      ]}
    />
  </div>`
}

/** @param {{ processes: any[], circuits: any[] }} props */
function Processes({ processes, circuits }) {
  const alive = processes.filter(isAlive).length
  return html`
    <h2>Processes</h2>
    <${Table}
      caption=${`${plural(processes.length, 'process', 'processes')}, ${alive} alive`}
      columns=${['Process', 'State', 'Host', 'Queues', 'Started', 'Seen', 'Open circuits']}
      rows=${processes.map((process) => ({
        key: process.id,
        cells: [
          process.kind === 'api' ? 'API' : process.kind,
          html`<${Status} status=${isAlive(process) ? 'alive' : 'dead'} />`,
          process.host,
          process.queues.join(', '),
          html`<${Time} at=${process.started_at} />`,
          html`<${Time} at=${process.seen_at} />`,
          circuits
            .filter(({ process: owner, state }) => owner === process.id && state !== 'closed')
            .map(
              ({ kind, state }) => html`<${Status} status=${`${kind}: ${state}`} tone="bad" /> `,
            ),
        ],
      }))}
    />
  `
}

/** @param {{ alive?: boolean }} process */
const isAlive = ({ alive }) => alive !== false

/** @param {{ overview: any }} props */
function Queues({ overview }) {
  const { waiting_by_tenant: tenants, queues, dead_letters: dead, disputes } = overview
  const most = Math.max(1, ...tenants.map((/** @type {any} */ { operations }) => operations))
  return html`
    <h2>Queues</h2>
    <div class="side-by-side">
      <${Table}
        caption="Unfinished operations by tenant"
        columns=${['Tenant', 'Operations', 'Share']}
        empty="No operation waits."
        rows=${tenants.map((/** @type {any} */ { tenant, operations }) => ({
          key: tenant,
          cells: [
            html`<${Tenant} id=${tenant} />`,
            operations,
            html`<svg class="meter" aria-hidden="true">
              <rect width=${`${(operations / most) * 100}%`} height="100%" />
            </svg>`,
          ],
        }))}
      />
      <${Table}
        caption="Jobs that wait, and disputes that are open"
        columns=${['Name', 'Number']}
        rows=${Object.entries({ ...queues, ...dead, ...disputes }).map(([name, number]) => ({
          key: name,
          cells: [name, number],
        }))}
      />
    </div>
  `
}

/** @param {Record<string, number>} numbers */
const sum = (numbers) => Object.values(numbers).reduce((total, number) => total + number, 0)
