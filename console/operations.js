// Operations that are not completed: those in doubt first of all.
import { withQuery } from './api.js'
import { formatSeconds, words } from './format.js'
import { html } from './html.js'
import { Foreign, Id, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { hrefOf } from './route.js'
import { ChoiceFilter, Filters, List, listQuery, TextFilter } from './table.js'

/** What the service calls a status of the list, and what it means. */
const VIEWS = [
  ['', 'not completed'],
  ['unknown', 'unknown outcome'],
  ['stuck', 'stuck'],
  ['dead', 'stopped for good'],
  ['pending', 'pending'],
  ['processing', 'processing'],
  ['failed_retryable', 'failed, can be retried'],
]

const COLUMNS = [
  'Operation',
  'Kind',
  'Status',
  'Recovery point',
  'A resume would',
  'Tenant',
  'Payment',
  'Idempotency key',
  'Last error',
  'Created',
]

/** @param {{ route: import('./route.js').Route }} props */
export function Operations({ route }) {
  const list = useResource(withQuery('/admin/operations', listQuery(route)), {
    everyMs: 3_000,
    live: true,
  })
  const { query } = route
  return html`
    <h1>Operations</h1>
    <p>
      An outcome is unknown when the provider's answer was lost: ${' '}
      <a href=${hrefOf('operations', { status: 'unknown' })}>show only these</a>.
    </p>
    <${Filters} route=${route}>
      <${ChoiceFilter} label="Status" name="status" value=${query['status']} options=${VIEWS} />
      <${TextFilter} label="Tenant" name="tenant" value=${query['tenant']} hint="tnt_..." />
      <${TextFilter} label="Payment" name="payment" value=${query['payment']} hint="pay_..." />
      <${TextFilter}
        label="Idempotency key"
        name="idempotency_key"
        value=${query['idempotency_key']}
      />
      <${TextFilter}
        label="Provider id"
        name="provider_id"
        value=${query['provider_id']}
        hint="pi_..."
      />
    <//>
    <${List}
      ...${{ list, route, cells }}
      caption="Operations, newest first"
      columns=${COLUMNS}
      empty="No operation matches."
    />
  `
}

/** @param {import('../client/schema.ts').components['schemas']['Operation']} operation */
function cells(operation) {
  return [
    html`<${Id} id=${operation.id} />`,
    operation.operation,
    html`<${Status} status=${operation.status} /> ${
        operation.phase_age_seconds !== null &&
        html`<span class="quiet"> for ${formatSeconds(operation.phase_age_seconds)}</span>`
      }`,
    operation.recovery_point,
    words(operation.resume_would),
    html`<${Tenant} id=${operation.tenant} />`,
    html`<${Id} id=${operation.payment} />`,
    html`<${Foreign} text=${operation.idempotency_key} />`,
    html`<${Foreign} text=${operation.last_error} />`,
    html`<${Time} at=${operation.created_at} />`,
  ]
}
