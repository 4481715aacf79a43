// What follows from a claim about an unknown outcome, in the service's words: for both operators, the
// same, before either sends it.
import { html } from './html.js'
import { Facts } from './parts.js'

/** @param {{ of: import('../client/operators-schema.ts').components['schemas']['ClaimConsequences'] }} props */
export function Consequences({ of: { refused, warning, found, absent, unclear, unanswered } }) {
  if (refused !== null) return html`<p class="note"><strong>${refused}</strong></p>`
  return html`
    <p>A worker looks at the provider. What follows depends on the lookup:</p>
    <${Facts}
      facts=${[
        ['It finds it', found],
        ['It finds nothing', absent],
        ['It shows neither', unclear],
        ['It is not answered', unanswered],
      ]}
    />
    ${warning !== null && html`<p class="note bad"><strong>${warning}</strong></p>`}
  `
}
