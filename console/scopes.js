// The choice of what an API key may be used for.
import { html } from './html.js'

/** Every scope, and the scopes by themselves, as openapi.yaml lists them. */
const SCOPES = [
  '*',
  'payments:read',
  'payments:write',
  'refunds:write',
  'ledger:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
]

export function ScopeFields() {
  return html`<fieldset>
    <legend>Scopes</legend>
    ${SCOPES.map(
      (scope) =>
        html`<label class="check" key=${scope}>
          <input type="checkbox" name="scope" value=${scope} defaultChecked=${scope === '*'} />
          <span>${scope === '*' ? 'every scope (*)' : scope}</span>
        </label>`,
    )}
  </fieldset>`
}

/** @param {FormData} form */
export const scopesOf = (form) => form.getAll('scope').map(String)
