// Operations that are not completed: those in doubt first of all.
import { withQuery } from './api.js'
import { formatDuration, words } from './format.js'
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
  ['proposed', 'waits for a second operator'],
  ['resolved', 'was unknown, resolved lately'],
  ['dead', 'stopped for good'],
  ['pending', 'pending'],
  ['processing', 'processing'],
  ['failed_retryable', 'failed, can be retried'],
]

const COLUMNS = [
  'Operation',
  'Status',
  'Recovery point',
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
      What is not completed. Only these: ${' '}
      <a href=${hrefOf('operations', { status: 'unknown' })}>unknown outcomes</a>, ${' '}
      <a href=${hrefOf('operations', { status: 'proposed' })}
        >those that wait for a second operator</a
      >, ${' '}
      <a href=${hrefOf('operations', { status: 'resolved' })}
        >those that were resolved in the last 24 hours</a
      >.
    </p>
    <${Filters} ...${{ route, problem: list.problem }}>
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

/** @param {import('../client/operators-schema.ts').components['schemas']['OperationWithProposal']} operation */
function cells(operation) {
  return [
    html`<${Id} id=${operation.id} /><br /><span class="quiet">${operation.operation}</span>`,
    html`<${StatusOf} operation=${operation} />`,
    html`${words(operation.recovery_point)}
    ${
      operation.resume_would !== 'nothing' &&
      html`<br /><span class="quiet">can ${words(operation.resume_would)}</span>`
    }`,
    html`<${Id} id=${operation.payment} /><br /><${Tenant} id=${operation.tenant} />`,
    html`<${Foreign} text=${operation.idempotency_key} />`,
    html`<${Foreign} text=${operation.last_error} />`,
    html`<${Time} at=${operation.created_at} />`,
  ]
}

/** @param {{ operation: import('../client/operators-schema.ts').components['schemas']['OperationWithProposal'] }} props */
function StatusOf({ operation: { status, proposal, unknown_at: since } }) {
  const isUnknown = status === 'unknown' && since !== null
  return html`
    <${Status} status=${status} /> ${
      isUnknown &&
      html`<span class="quiet">
        for ${formatDuration(Math.max(0, Date.now() - Date.parse(since)))}</span
      >`
    }
    ${
      proposal !== null &&
      html`<br /><${Status}
          status=${`${proposal.proposed_by} proposed: needs a second operator`}
          tone="busy"
        />`
    }
  `
}
