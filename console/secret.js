// The secret of a new API key. The service shows it once, and so does the page.
import { html } from './html.js'

/** @param {{ secret: string }} props */
export function Secret({ secret }) {
  return html`
    <p><strong>Copy the key now: it is not shown again.</strong></p>
    <pre class="json secret" tabindex="0" role="region" aria-label="The API key">${secret}</pre>
  `
}
