// What an operator can request for an operation now, and what it led to: a lookup is followed until
// it has an answer.
import { useEffect, useState } from 'preact/hooks'
import { Action } from './action.js'
import { change } from './api.js'
import { Subject } from './claims.js'
import { html } from './html.js'
import { foundBy, isLookUp } from './lookups.js'
import { Time } from './parts.js'

/** @typedef {import('../client/operators-schema.ts').components['schemas']['OperationWithTimeline']} Operation */

/** What each kind of resume is called. The service says what it does. @type {Record<string, string>} */
const LABELS = {
  look_up: 'Look up now',
  repeat_call: 'Repeat the call now',
  run: 'Run the step now',
  park: 'Look up now',
  reopen: 'Run it again',
}

/** A lookup that leaves the outcome unknown is no event of the service, so the page asks. */
const ASK_EVERY_MS = 1_000
const ASK_AT_MOST = 60

/** What follows when an operation that failed is run again. */
export const MOVES_MONEY =
  'What has failed is made now: a customer may be charged, or get money back. The merchant was told that it failed, and may have made another payment or refund. Ask first.'

/** @param {{ operation: Operation, path: string, done: () => void }} props */
export function Resume({ operation, path, done }) {
  /** How many lines the timeline had when the operator requested it. */
  const [since, setSince] = useState(/** @type {number | undefined} */ (undefined))
  const { resume_would: would, resume_effect: effect } = operation
  const label = LABELS[would]
  const request = async () => {
    await change('POST', `${path}/resume`)
    setSince(operation.timeline.length)
  }
  return html`<h2>What you can do now</h2>
    <p>${effect}</p>
    ${
      label !== undefined &&
      html`<${Action} ...${{ label, done, run: request }} title=${`${label}?`}>
        <${Subject} operation=${operation} />
        <p>${effect}</p>
        <p>
          ${
            would === 'reopen'
              ? MOVES_MONEY
              : 'A charge that may have been made is never made a second time.'
          }
        </p>
      <//>`
    }
    <div class="result" role="status">
      ${since !== undefined && html`<${Result} ...${{ operation, since, ask: done }} />`}
    </div>`
}

/** How late the provider may execute is not on the page, so it promises no time. */
const NO_PROOF =
  'The provider may still execute the call, so that this lookup alone is no proof. A later one may be. '

/** @param {{ operation: Operation, since: number, ask: () => void }} props */
function Result({ operation, since, ask }) {
  const { status, timeline, next_check_at: next } = operation
  const lines = timeline.slice(since)
  const last = lines.findLast(isLookUp)
  useAsking(ask, last === undefined && status !== 'completed')
  const seen = last && html`<${Time} at=${last.recorded_at} />: <strong>${foundBy(last)}</strong> `
  if (status === 'unknown') {
    return seen === undefined
      ? html`<p>Requested. A worker looks at the provider.</p>`
      : html`<p>${seen} The outcome stays unknown.</p>
          <p>
            ${last?.provider?.outcome === 'not_executed' && NO_PROOF} It is looked up again${' '}
            ${next === null ? 'only on request' : html`<${Time} at=${next} />`}.
          </p>`
  }
  return html`<p>${seen} ${then(status, lines.length)}</p>`
}

/** @param {() => void} ask @param {boolean} waits */
function useAsking(ask, waits) {
  useEffect(() => {
    if (!waits) return undefined
    let asked = 0
    const timer = setInterval(() => {
      asked += 1
      if (asked === ASK_AT_MOST) clearInterval(timer)
      ask()
    }, ASK_EVERY_MS)
    return () => clearInterval(timer)
  }, [waits])
}

/** @param {string} status @param {number} lines how many were recorded since. */
function then(status, lines) {
  if (status === 'completed') return 'The operation is completed.'
  if (status !== 'failed_retryable') return 'A worker works on it.'
  return lines === 0 ? 'Requested.' : 'Its client can try again.'
}
