// Webhook endpoints of all tenants, and the deliveries to them.
import { withQuery } from './api.js'
import { DeliveryList } from './deliveries.js'
import { html } from './html.js'
import { Foreign, Id, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { hrefOf } from './route.js'
import { ChoiceFilter, Filters, List, listQuery, TextFilter } from './table.js'

const STATUSES = [
  ['', 'any'],
  ['enabled', 'enabled'],
  ['paused', 'paused'],
  ['disabled', 'disabled'],
]

const COLUMNS = ['Endpoint', 'Status', 'URL', 'Description', 'Events', 'Created']

/** @param {{ route: import('./route.js').Route }} props */
export function Webhooks({ route }) {
  if (route.query['show'] === 'deliveries') return html`<${Deliveries} route=${route} />`
  return html`<${Endpoints} route=${route} />`
}

/** @param {{ route: import('./route.js').Route }} props */
function Endpoints({ route }) {
  const { query } = route
  const list = useResource(withQuery('/admin/webhook-endpoints', listQuery(route)), {
    everyMs: 5_000,
  })
  return html`
    <h1>Webhook endpoints</h1>
    <p><a href=${hrefOf('webhooks', { show: 'deliveries' })}>Deliveries to all endpoints</a></p>
    <${Filters} ...${{ route, problem: list.problem }}>
      <${ChoiceFilter} label="Status" name="status" value=${query['status']} options=${STATUSES} />
      <${TextFilter} label="Tenant" name="tenant" value=${query['tenant']} hint="tnt_..." />
    <//>
    <${List}
      ...${{ list, route, cells }}
      caption="Webhook endpoints, newest first"
      columns=${COLUMNS}
      empty="No webhook endpoint."
    />
  `
}

/** @param {any} endpoint */
function cells(endpoint) {
  return [
    html`<${Id} id=${endpoint.id} /><br /><${Tenant} id=${endpoint.tenant} />`,
    html`<${EndpointStatus} endpoint=${endpoint} />`,
    html`<${Foreign} text=${endpoint.url} />`,
    html`<${Foreign} text=${endpoint.description} />`,
    endpoint.event_types.join(', '),
    html`<${Time} at=${endpoint.created_at} />`,
  ]
}

/** @param {{ endpoint: any }} props */
export function EndpointStatus({
  endpoint: { status, disabled_reason: reason, paused_until: until },
}) {
  if (reason !== null) return html`<${Status} status=${status} />: ${reason}`
  if (until === null) return html`<${Status} status=${status} />`
  return html`<${Status} status="paused" /> until <${Time} at=${until} />`
}

/** @param {{ route: import('./route.js').Route }} props */
function Deliveries({ route }) {
  return html`
    <h1>Webhook deliveries</h1>
    <p><a href=${hrefOf('webhooks')}>Endpoints</a></p>
    <${DeliveryList} route=${route} keep=${{ show: 'deliveries' }} />
  `
}
