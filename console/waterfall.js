// The waterfall of a payment's life: bars for the eye, and a table that has all of it.
import { formatDuration, words } from './format.js'
import { html } from './html.js'
import { linesOf, scaleOf } from './life.js'
import { Members } from './members.js'
import { Amount, Id, Status, Time } from './parts.js'
import { Table } from './table.js'

/** @typedef {import('./life.js').Line} Line */

/** @param {{ life: import('./life.js').Life, caption: string }} props */
export function Waterfall({ life, caption }) {
  const lines = linesOf(life)
  const begin = lines[0]?.from ?? 0
  return html`
    <${Bars} lines=${lines} />
    <${Table}
      caption=${caption}
      columns=${['When', 'After', 'Took', 'What', 'Details']}
      rows=${lines.map((line, n) => ({
        key: `${n} ${line.what}`,
        cells: [
          html`<${Time} at=${new Date(line.from).toISOString()} />`,
          html`<span class="amount">${formatDuration(line.from - begin)}</span>`,
          html`<span class="amount">${tookOf(line)}</span>`,
          html`<span class="what"
            ><span class=${`kind ${line.kind}`}>${line.kind}</span> ${words(line.what)}</span
          >`,
          html`<${Details} line=${line} />`,
        ],
      }))}
    />
  `
}

/** @param {Line} line */
const tookOf = ({ from, to }) => (to > from ? formatDuration(to - from) : '')

/** The narrowest bar, in parts of the whole: a moment can be seen, too. */
const NARROWEST = 0.006

/** @param {number} part */
const percent = (part) => `${(part * 100).toFixed(3)}%`

/** Hidden from screen readers, because the table says the same. @param {{ lines: Line[] }} props */
function Bars({ lines }) {
  const place = scaleOf(lines)
  return html`<div class="waterfall" aria-hidden="true">
    ${lines.map((line, n) => {
      const left = Math.min(place(line.from), 1 - NARROWEST)
      const width = Math.max(place(line.to) - left, NARROWEST)
      return html`<div class="bar" key=${`${n} ${line.what}`}>
        <span class="label"
          ><span class=${`kind ${line.kind}`}>${line.kind}</span> ${words(line.what)}</span
        >
        <svg>
          <rect
            class=${`${line.kind} ${line.tone ?? ''}`}
            x=${percent(left)}
            width=${percent(width)}
            y="20%"
            height="60%"
            rx="2"
          />
        </svg>
        <span class="took">${tookOf(line)}</span>
      </div>`
    })}
    <p class="quiet">
      Long times are drawn shorter than they are: the bars show the order, the numbers the
      durations.
    </p>
  </div>`
}

/** @param {{ line: Line }} props */
function Details({ line: { kind, of } }) {
  if (kind === 'work') return html`<${RunDetails} run=${of} />`
  if (kind === 'event') return html`<${Id} id=${of.id} />`
  if (kind === 'ledger') return html`<${Entries} transaction=${of} />`
  if (kind === 'webhook') return html`<${AttemptDetails} ...${of} />`
  if (kind === 'request') return html`<${RequestDetails} operation=${of} />`
  return html`lease epoch ${of.lease_epoch}, attempt ${of.attempt}`
}

/** @param {{ run: import('./life.js').Run }} props */
function RunDetails({ run }) {
  const { provider, recovery_point: point } = run
  return html`
    lease epoch ${run.lease_epoch}, attempt ${run.attempt}; ${' '}
    ${point === null ? 'recorded no outcome' : html`recovery point <code>${point}</code>`}
    ${
      provider !== null &&
      html`<details>
        <summary>
          asked and answered
          ${provider.amount !== null && provider.currency !== null && html` (<${Amount} minor=${provider.amount} currency=${provider.currency} />)`}
        </summary>
        <p>Asked</p>
        <${Members} value=${provider.asked} label="What the provider was asked" withJson=${true} />
        <p>Answered</p>
        <${Members}
          value=${provider.answered}
          label="What the provider answered"
          withJson=${true}
        />
      </details>`
    }
  `
}

/** @param {{ operation: any }} props */
function RequestDetails({ operation }) {
  return html`<${Id} id=${operation.id} /> <${Status} status=${operation.status} />${' at '}
    <code>${operation.recovery_point}</code>`
}

/** @param {{ delivery: any, attempt: any }} props */
function AttemptDetails({ delivery, attempt }) {
  return html`attempt ${attempt.number} to <${Id} id=${delivery.endpoint} />, delivery${' '}
    <${Status} status=${delivery.status} />`
}

/** @param {{ transaction: any }} props */
function Entries({ transaction }) {
  return html`<ul class="plain">
    ${transaction.entries.map(
      (/** @type {{ account: string, amount: number, currency: string }} */ entry) =>
        html`<li>
          ${words(entry.account)}: ${' '}
          <${Amount} minor=${entry.amount} currency=${entry.currency} />
        </li>`,
    )}
  </ul>`
}
