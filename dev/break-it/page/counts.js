// The provider's count of executed charges beside the service's count of payments, live.
import { html } from '../../../console/html.js'
import { ProblemNote } from '../../../console/parts.js'

/** @typedef {import('../server.ts').Counts} BreakCounts */

export const COUNTS = '/break/counts'

/** @param {{ of: import('../../../console/resource.js').Resource }} props */
export function Counts({ of: { value, problem } }) {
  const isDown = /** @type {any} */ (problem)?.status === 0
  return html`<section class="counts card" aria-label="Charges and payments">
    <${Figures} counts=${value} />
    <p class="api" role="status">
      ${
        isDown &&
        html`<span class="status bad">npm start does not answer</span> This page asks until it is
          back.`
      }
    </p>
    ${!isDown && html`<${ProblemNote} problem=${problem} />`}
  </section>`
}

/** @param {{ counts: BreakCounts | undefined }} props */
function Figures({ counts }) {
  if (counts === undefined) return html`<p class="quiet">Loading</p>`
  const { provider_executed: executed, payments, in_progress: inProgress } = counts
  const { charged_twice: twice } = counts
  const { text, tone } = verdictOf(counts)
  return html`
    <dl>
      <div>
        <dt>Charges that the provider executed</dt>
        <dd>${executed}</dd>
      </div>
      <div>
        <dt>Payments that the service recorded as charged</dt>
        <dd>${payments}</dd>
      </div>
      <div>
        <dt>Payments in progress</dt>
        <dd>${inProgress}</dd>
      </div>
    </dl>
    <p class=${`verdict ${tone}`} role="status">${text}</p>
    <p class=${`verdict ${twice === 0 ? 'good' : 'bad'}`} role="status">Charged twice: ${twice}</p>
  `
}

/**
 * Without the numbers, so that a screen reader speaks only when something else is true.
 *
 * @param {BreakCounts} counts
 */
function verdictOf({ provider_executed: executed, payments, in_progress: inProgress }) {
  if (executed === payments) return { text: 'They are equal', tone: 'good' }
  if (inProgress > 0) return { text: 'Equal when those in progress end', tone: 'busy' }
  // The charges are counted a moment after the payments.
  if (executed > payments) return { text: 'Counting again', tone: 'busy' }
  return { text: 'They differ', tone: 'bad' }
}
