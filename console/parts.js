// Small parts of pages: times, amounts, states, links to resources, facts, problems.
import { describe, formatTime, words } from './format.js'
import { html } from './html.js'
import { formatAmount } from './money.js'
import { hrefOf } from './route.js'
import { useTenantName } from './tenant-names.js'
import { Term } from './terms.js'

/** A time in the viewer's zone; UTC is in the title. @param {{ at: string | null | undefined }} props */
export function Time({ at }) {
  if (at === null || at === undefined) return html`<span class="quiet">none</span>`
  return html`<time datetime=${at} title=${new Date(at).toISOString()}>${formatTime(at)}</time>`
}

/** @param {{ minor: number, currency: string }} props */
export function Amount({ minor, currency }) {
  return html`<span class="amount">${formatAmount(minor, currency)}</span>`
}

/** The amount of the first provider call of an operation. @param {{ operation: any }} props */
export function AmountOf({ operation }) {
  const { amount, currency } =
    operation.timeline.find((/** @type {any} */ { provider }) => provider?.amount)?.provider ?? {}
  return amount === undefined || currency === null
    ? html`<span class="quiet">no amount</span>`
    : html`<${Amount} minor=${amount} currency=${currency} />`
}

/** What a state means for a person, by which it is coloured. The word itself is always shown. */
const TONES = {
  good: 'succeeded completed active enabled verified closed done finished resolved won alive',
  bad: 'unknown failed dead declined contradicted open revoked disabled lost operation_abandoned',
  busy: 'pending processing running requested retiring paused requires_action half_open',
}

/** @param {string} status */
function toneOf(status) {
  const found = Object.entries(TONES).find(([, states]) => states.split(' ').includes(status))
  return found?.[0] ?? 'plain'
}

/** @param {{ status: string, tone?: string }} props */
export function Status({ status, tone = toneOf(status) }) {
  return html`<span class=${`status ${tone}`}>${words(status)}</span>`
}

/** @type {Record<string, string>} */
const PAGES = {
  pay: 'payments',
  op: 'operations',
  fnd: 'findings',
  rec: 'reconciliations',
  tnt: 'tenants',
  we: 'webhooks',
}

/** An id that leads to its page, if there is one. @param {{ id: string | null | undefined }} props */
export function Id({ id }) {
  if (id === null || id === undefined) return html`<span class="quiet">none</span>`
  const page = PAGES[id.slice(0, id.indexOf('_'))]
  const shown = html`<code>${id}</code>`
  return page === undefined ? shown : html`<a href=${hrefOf(page, {}, id)}>${shown}</a>`
}

/** @param {{ id: string | null | undefined }} props */
export function Tenant({ id }) {
  const name = useTenantName(id)
  if (id === null || id === undefined) return html`<span class="quiet">none</span>`
  return html`<a href=${hrefOf('tenants', {}, id)} title=${id}><bdi>${name ?? id}</bdi></a>`
}

/** A longer text is shown in whole only when someone opens it. */
const SHORT_MAX = 200

/** Text of a tenant or of its client. Its direction ends with it. @param {{ text: unknown }} props */
export function Foreign({ text }) {
  if (text === null || text === undefined || text === '') {
    return html`<span class="quiet">none</span>`
  }
  const shown = describe(text)
  if (shown.length <= SHORT_MAX) return html`<bdi class="foreign">${shown}</bdi>`
  return html`<details>
    <summary><bdi class="foreign">${shown.slice(0, SHORT_MAX)}...</bdi></summary>
    <bdi class="foreign">${shown}</bdi>
  </details>`
}

/** An object that differs by kind. @param {{ value: unknown, label: string }} props */
export function Json({ value, label }) {
  if (value === null || value === undefined) return html`<span class="quiet">none</span>`
  return html`<pre class="json" tabindex="0" role="region" aria-label=${label}><bdi>${describe(
    value,
  )}</bdi></pre>`
}

/** @param {{ facts: [string, unknown][] }} props */
export function Facts({ facts }) {
  return html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        html`<div key=${name}>
          <dt><${Term} name=${name} /></dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

/** @param {{ problem: Error | import('./api.js').Problem | undefined }} props */
export function ProblemNote({ problem }) {
  if (problem === undefined) return null
  const {
    title = 'Something went wrong',
    detail,
    type = '',
    errors = [],
  } = /** @type {any} */ (problem)
  return html`<div class="problem" role="alert">
    <p><strong>${title}</strong></p>
    <p>${detail ?? (title === problem.message ? '' : problem.message)}</p>
    ${
      errors.length > 0 &&
      html`<ul>
        ${errors.map(
          (/** @type {{ pointer: string, detail: string }} */ error) =>
            html`<li><code>${error.pointer}</code> ${error.detail}</li>`,
        )}
      </ul>`
    }
    ${
      type.startsWith('/problems/') &&
      html`<p><a href=${type} target="_blank" rel="noopener">What this problem means</a></p>`
    }
  </div>`
}

/**
 * What a page shows until its resource is there.
 *
 * @param {{ of: import('./resource.js').Resource, children?: unknown }} props
 */
export function Loading({ of: { value, problem } }) {
  if (problem !== undefined) return html`<${ProblemNote} problem=${problem} />`
  return value === undefined ? html`<p class="quiet" role="status">Loading</p>` : null
}
