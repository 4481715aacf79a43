// One tenant: its API keys with their scopes, its limits, and what its new requests need.
import { Action, Field } from './action.js'
import { change, withQuery } from './api.js'
import { html } from './html.js'
import { Loading, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { hrefOf } from './route.js'
import { ScopeFields, scopesOf } from './scopes.js'
import { Secret } from './secret.js'
import { List, listQuery, Table } from './table.js'

/**
 * @typedef {import('../client/operators-schema.ts').components['schemas']} Schemas
 * @typedef {{ secret: string }} WithSecret
 */

const GRACE_SECONDS = 86_400

const COLUMNS = [
  'Key',
  'Begins with',
  'Status',
  'Change',
  'Scopes',
  'Created',
  'Expires',
  'Revoked',
]

/** @param {{ route: import('./route.js').Route }} props */
export function Tenant({ route }) {
  const { id = '' } = route
  const path = `/admin/tenants/${encodeURIComponent(id)}`
  const list = useResource(withQuery(`${path}/keys`, listQuery(route)))
  const tenant = useResource(path)
  const limits = useResource(`${path}/limits`, { everyMs: 5_000 })
  const cells = cellsWith(list.reload)
  return html`
    <h1>Tenant <bdi class="foreign">${tenant.value?.name ?? id}</bdi></h1>
    <p>
      <code>${id}</code>: ${' '} <a href=${hrefOf('payments', { tenant: id })}>payments</a>, ${' '}
      <a href=${hrefOf('operations', { tenant: id })}>operations</a>, ${' '}
      <a href=${hrefOf('webhooks', { tenant: id })}>webhook endpoints</a>
    </p>
    <h2>API keys</h2>
    <${Add} path=${path} done=${list.reload} />
    <${List}
      ...${{ list, route, cells }}
      caption="API keys, newest first"
      columns=${COLUMNS}
      empty="No API key."
    />
    <h2>Limits</h2>
    <${Loading} of=${limits} />
    ${limits.value !== undefined && html`<${Limits} limits=${limits.value} />`}
    <h2>What new requests need</h2>
    <${Loading} of=${tenant} />
    ${
      limits.value !== undefined &&
      tenant.value !== undefined &&
      html`<${Needs}
        ...${{ path, done: limits.reload }}
        limits=${limits.value}
        tenant=${tenant.value}
      />`
    }
  `
}

/** @param {() => void} done */
const cellsWith = (done) => (/** @type {Schemas['ApiKey']} */ key) => [
  html`<code>${key.id}</code>`,
  html`<code>${key.prefix}</code>`,
  html`<${Status} status=${key.status} />`,
  html`<${KeyChanges} apiKey=${key} done=${done} />`,
  key.scopes.join(', '),
  html`<${Time} at=${key.created_at} />`,
  html`<${Time} at=${key.expires_at} />`,
  html`<${Time} at=${key.revoked_at} />`,
]

const showSecret = (/** @type {WithSecret} */ { secret }) => html`<${Secret} secret=${secret} />`

/** @param {{ apiKey: Schemas['ApiKey'], done: () => void }} props */
function KeyChanges({ apiKey: { id, prefix, status }, done }) {
  const rotate = ({ grace_seconds: seconds = '' }) =>
    change('POST', `/admin/keys/${id}/rotate`, { grace_seconds: Number(seconds) })
  return html`
    ${
      status === 'active' &&
      html`<${Action}
        label="Rotate"
        name=${`Rotate ${prefix}`}
        title=${`Replace ${prefix}?`}
        danger=${true}
        run=${rotate}
        done=${done}
        show=${showSecret}
      >
        <p>A new key with the same scopes is created. The old one stops working after a while.</p>
        <${Field}
          label="The old key works for (seconds)"
          name="grace_seconds"
          type="number"
          min="0"
          max=${7 * GRACE_SECONDS}
          required
          defaultValue=${GRACE_SECONDS}
        />
      <//>`
    }
    ${
      (status === 'active' || status === 'retiring') &&
      html`<${Action}
        label="Revoke"
        name=${`Revoke ${prefix}`}
        title=${`Revoke ${prefix}?`}
        danger=${true}
        run=${() => change('DELETE', `/admin/keys/${id}`)}
        done=${done}
      >
        <p>Requests with this key are refused from now on. It cannot be activated again.</p>
      <//>`
    }
  `
}

/** @param {{ path: string, done: () => void }} props */
function Add({ path, done }) {
  return html`<p>
    <${Action}
      label="Add a key"
      title="Add an API key?"
      confirm="Add the key"
      done=${done}
      run=${(/** @type {unknown} */ _fields, /** @type {FormData} */ form) =>
        change('POST', `${path}/keys`, { scopes: scopesOf(form) })}
      show=${showSecret}
    >
      <p>Its secret is shown once.</p>
      <${ScopeFields} />
    <//>
  </p>`
}

/** @param {{ limits: Schemas['TenantLimits'] }} props */
function Limits({ limits }) {
  const rows = [
    { name: 'Operations without a final answer', ...limits.active_keys },
    { name: 'Stored idempotency keys', ...limits.stored_keys },
    { name: `Writes in ${limits.writes.window_seconds} s`, ...limits.writes },
    { name: `Reads in ${limits.reads.window_seconds} s`, ...limits.reads },
  ]
  return html`<${Table}
    caption="Limits, and how much of them is used"
    columns=${['Limit', 'At most', 'Used', 'Set for']}
    rows=${rows.map((row) => ({
      key: row.name,
      cells: [
        row.name,
        row.limit ?? 'no limit',
        'used' in row ? row.used : '',
        row.own ? 'this tenant' : 'all tenants',
      ],
    }))}
  />`
}

/** @param {{ limits: Schemas['TenantLimits'], tenant: Schemas['Tenant'], path: string, done: () => void }} props */
function Needs({ limits: { key_length_min: length }, tenant, path, done }) {
  const setLength = ({ key_length_min: text = '' }) =>
    change('POST', `${path}/limits`, { key_length_min: text === '' ? null : Number(text) })
  const action = html`<${Action}
    label="Change"
    name="Change the length of keys"
    title="Change the least length of a key?"
    run=${setLength}
    done=${done}
  >
    <p>Shorter new keys are refused from now on. Retries with keys that are stored are served.</p>
    <${Field}
      label="Characters"
      name="key_length_min"
      type="number"
      min="1"
      max="64"
      defaultValue=${length.own ? length.limit : ''}
      hint="A UUID has 36. Empty: as for all tenants."
    />
  <//>`
  const rows = [
    {
      key: 'key',
      cells: [
        'Characters of a new idempotency key',
        `${length.limit ?? 1} or more`,
        length.own ? 'this tenant' : 'all tenants',
        action,
      ],
    },
    {
      key: 'reference',
      cells: [
        'Reference of a payment or refund',
        tenant.requires_reference ? 'required' : 'optional',
        'this tenant',
        '',
      ],
    },
  ]
  return html`<${Table}
    caption="What new requests need"
    columns=${['Part', 'Needed', 'Set for', 'Change']}
    rows=${rows}
  />`
}
