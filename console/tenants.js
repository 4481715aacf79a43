// The tenants, and how an operator creates one.
import { Action, Field } from './action.js'
import { change, withQuery } from './api.js'
import { html } from './html.js'
import { Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { hrefOf } from './route.js'
import { ScopeFields, scopesOf } from './scopes.js'
import { Secret } from './secret.js'
import { List, listQuery } from './table.js'
import { forgetTenantNames } from './tenant-names.js'

/** @typedef {import('../client/operators-schema.ts').components['schemas']['Tenant']} TenantBody */

/** @param {{ route: import('./route.js').Route }} props */
export function Tenants({ route }) {
  const list = useResource(withQuery('/admin/tenants', listQuery(route)))
  return html`
    <h1>Tenants</h1>
    <${Create} done=${list.reload} />
    <${List}
      ...${{ list, route, cells }}
      caption="Tenants, newest first"
      columns=${['Name', 'Id', 'Status', 'Fees', 'Created']}
      empty="No tenant yet."
    />
  `
}

/** @param {TenantBody} tenant */
function cells({ id, name, fees, created_at: at, disabled_at: disabledAt }) {
  return [
    html`<a href=${hrefOf('tenants', {}, id)}><bdi class="foreign">${name}</bdi></a>`,
    html`<code>${id}</code>`,
    html`<${Status} status=${disabledAt === null ? 'active' : 'disabled'} />`,
    `${fees.basis_points / 100} % + ${fees.fixed_minor} minor units`,
    html`<${Time} at=${at} />`,
  ]
}

/** @param {Record<string, string>} fields @param {FormData} form */
async function create({ name }, form) {
  const tenant = await change('POST', '/admin/tenants', { name, scopes: scopesOf(form) })
  forgetTenantNames()
  return tenant
}

/** @param {{ done: () => void }} props */
function Create({ done }) {
  return html`<p>
    <${Action}
      label="Create a tenant"
      title="Create a tenant?"
      run=${create}
      done=${done}
      confirm="Create the tenant"
      show=${(/** @type {any} */ { api_key: key }) => html`<${Secret} secret=${key.secret} />`}
    >
      <p>It gets one API key, whose secret is shown once.</p>
      <${Field} label="Name" name="name" required maxlength="200" />
      <${ScopeFields} />
    <//>
  </p>`
}
