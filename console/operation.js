// One operation: its state, what a resume would do, what is known about an unknown outcome, and the
// changes that an operator can make.
import { withQuery } from './api.js'
import { formatSeconds } from './format.js'
import { html } from './html.js'
import {
  AmountOf,
  Facts,
  Foreign,
  Id,
  Loading,
  ProblemNote,
  Status,
  Tenant,
  Time,
} from './parts.js'
import { Members } from './members.js'
import { Resolution } from './resolution.js'
import { Resume } from './resume.js'
import { useResource } from './resource.js'
import { Table } from './table.js'
import { Waterfall } from './waterfall.js'

/** @param {{ route: import('./route.js').Route }} props */
export function Operation({ route: { id = '' } }) {
  const path = `/admin/operations/${encodeURIComponent(id)}`
  const operation = useResource(path, { everyMs: 2_000, live: true })
  const trail = useResource(withQuery('/admin/actions', { subject: id, limit: 50 }), {
    everyMs: 5_000,
    live: true,
  })
  const { value, problem } = operation
  const reload = () => {
    operation.reload()
    trail.reload()
  }
  if (value === undefined) {
    return html`<h1>Operation <code>${id}</code></h1>
      <${Loading} of=${operation} />`
  }
  return html`
    <h1>Operation <code>${id}</code></h1>
    <${ProblemNote} problem=${problem} />
    <${OperationFacts} operation=${value} />
    <${Resume} operation=${value} path=${path} done=${reload} />
    <${Resolution} operation=${value} path=${path} done=${reload} />
    <h2>Audit trail</h2>
    <${Loading} of=${trail} />
    <${Trail} actions=${trail.value?.data ?? []} />
    <h2>Timeline</h2>
    <${Waterfall}
      life=${{ operations: [value], runs: value.timeline }}
      caption="Every attempt, oldest first"
    />
  `
}

/** @param {{ operation: any }} props */
function OperationFacts({ operation }) {
  /** @type {[string, unknown][]} */
  const facts = [
    ['Kind', operation.operation],
    ['Status', html`<${Status} status=${operation.status} />`],
    ['Recovery point', html`<code>${operation.recovery_point}</code>`],
    ['Amount', html`<${AmountOf} operation=${operation} />`],
    ['Payment', html`<${Id} id=${operation.payment} />`],
    ['Refund', html`<${Id} id=${operation.refund} />`],
    ['Tenant', html`<${Tenant} id=${operation.tenant} />`],
    ['Idempotency key', html`<${Foreign} text=${operation.idempotency_key} />`],
    ['Created', html`<${Time} at=${operation.created_at} />`],
    ['Attempts', operation.attempts],
    ['Lease epoch', operation.lease_epoch],
    ['Lease expires', html`<${Time} at=${operation.lease_expires_at} />`],
    ['In doubt', operation.in_doubt ? 'yes: a provider call may have run' : 'no'],
    ['Last error', html`<${Foreign} text=${operation.last_error} />`],
  ]
  const { phase_age_seconds: age } = operation
  // Afterwards it would be about another step, or about none.
  if (age !== null && operation.status !== 'completed') {
    facts.push(['Call of this step first made', `${formatSeconds(age)} ago`])
  }
  return html`<${Facts} facts=${facts} />`
}

/** @param {{ actions: any[] }} props */
function Trail({ actions }) {
  return html`<${Table}
    caption="What operators did with it, newest first"
    columns=${['When', 'Who', 'Action', 'Details']}
    empty="No operator did anything."
    rows=${actions.map((action) => ({
      key: action.id,
      cells: [
        html`<${Time} at=${action.happened_at} />`,
        html`<bdi>${action.actor}</bdi>`,
        action.action,
        html`<${Members} value=${action.details} label=${`Details of ${action.id}`} />`,
      ],
    }))}
  />`
}
