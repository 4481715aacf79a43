// Our record and the provider's of the same thing, side by side.
import { html } from './html.js'
import { Members } from './members.js'

/** @param {{ finding: any }} props */
export function Sides({ finding: { id, ours, theirs } }) {
  return html`<div class="side-by-side">
    <section aria-label=${`Our record, ${id}`}>
      <h3>Ours</h3>
      <${Members} value=${ours} label=${`What our records state, ${id}`} withJson=${true} />
    </section>
    <section aria-label=${`The provider's record, ${id}`}>
      <h3>Theirs</h3>
      <${Members} value=${theirs} label=${`What the provider states, ${id}`} withJson=${true} />
    </section>
  </div>`
}
