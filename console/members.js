// The members of an object that differs by kind, as names and values. JSON is one click away.
import { words } from './format.js'
import { html } from './html.js'
import { Amount, Foreign, Id, Json } from './parts.js'

/**
 * @param {object} props
 * @param {unknown} props.value
 * @param {string} props.label what the members are of, for a screen reader.
 * @param {boolean} [props.withJson] for a developer, who may need the names of the fields.
 */
export function Members({ value, label, withJson = false }) {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    return html`<${Foreign} text=${value !== null && typeof value === 'object' ? null : value} />`
  }
  return html`
    <${Pairs} of=${value} label=${label} />
    ${
      withJson &&
      html`<details>
        <summary>as JSON</summary>
        <${Json} value=${value} label=${`${label}, as JSON`} />
      </details>`
    }
  `
}

/** Of a job's member such as `tenantId`, too. @param {string} name */
const wordsOfMember = (name) =>
  words(name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`))

/** @param {{ of: Record<string, any>, label?: string }} props */
function Pairs({ of, label }) {
  return html`<dl class="members" aria-label=${label}>
    ${Object.entries(of).map(
      ([name, value]) =>
        html`<div key=${name}>
          <dt>${wordsOfMember(name)}</dt>
          <dd><${Value} ...${{ name, value, currency: of['currency'] }} /></dd>
        </div>`,
    )}
  </dl>`
}

/** Ids of resources that have a page. */
const ID = /^(?:pay|op|fnd|rec|tnt|we)_[0-9a-z]{26}$/

/** @param {{ name: string, value: any, currency: unknown }} props */
function Value({ name, value, currency }) {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string' && ID.test(value)) return html`<${Id} id=${value} />`
  if (Number.isInteger(value) && name.startsWith('amount') && typeof currency === 'string') {
    return html`<${Amount} minor=${value} currency=${currency} />`
  }
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
    return html`<${Foreign} text=${value.join(', ')} />`
  }
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
    return html`<${Pairs} of=${value} />`
  }
  return html`<${Foreign} text=${typeof value === 'object' ? null : value} />`
}
