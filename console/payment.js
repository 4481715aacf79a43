// One payment: what it is, its idempotency keys, and its life as it happens.
import { plural } from './format.js'
import { html } from './html.js'
import { Members } from './members.js'
import { Amount, Facts, Foreign, Id, Loading, ProblemNote, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { Table } from './table.js'
import { Waterfall } from './waterfall.js'

/** @param {{ route: import('./route.js').Route }} props */
export function Payment({ route: { id = '' } }) {
  const payment = useResource(`/admin/payments/${encodeURIComponent(id)}`, {
    everyMs: 2_000,
    live: true,
  })
  const { value } = payment
  return html`
    <h1>Payment <code>${id}</code></h1>
    ${
      value === undefined
        ? html`<${Loading} of=${payment} />`
        : html`
            <${ProblemNote} problem=${payment.problem} />
            <${PaymentFacts} payment=${value} />
            <${Operations} operations=${value.life.operations} />
            <h2>Life</h2>
            ${
              value.life.has_more === true &&
              html`<p class="note">It is long: only its beginning is shown.</p>`
            }
            <${Waterfall} life=${value.life} caption="What happened, oldest first" />
            <${Refunds} refunds=${value.life.refunds ?? []} />
            <${Disputes} disputes=${value.life.disputes ?? []} />
          `
    }
  `
}

/** @param {{ payment: any }} props */
function PaymentFacts({ payment }) {
  const { currency, failure, metadata } = payment
  const amount = (/** @type {number} */ minor) =>
    html`<${Amount} minor=${minor} currency=${currency} />`
  /** @type {[string, unknown][]} */
  const facts = [
    ['Status', html`<${Status} status=${payment.status} />`],
    ['Amount', amount(payment.amount)],
    ['Captured', amount(payment.amount_captured)],
    ['Refunded', amount(payment.amount_refunded)],
    ['Tenant', html`<${Tenant} id=${payment.tenant} />`],
    ['Created', html`<${Time} at=${payment.created_at} />`],
    ['Provider', html`${payment.provider.name} <code>${payment.provider.payment_id}</code>`],
    ['Payment method', html`<${Foreign} text=${payment.payment_method} />`],
    ['Customer', html`<${Foreign} text=${payment.customer} />`],
    ['Reference', html`<${Foreign} text=${payment.reference} />`],
    ['Description', html`<${Foreign} text=${payment.description} />`],
    ['Failure', html`<${Foreign} text=${failure && `${failure.code}: ${failure.message}`} />`],
    [
      'Metadata',
      Object.keys(metadata).length === 0
        ? html`<span class="quiet">none</span>`
        : html`<${Members} value=${metadata} label="Metadata" />`,
    ],
  ]
  return html`<${Facts} facts=${facts} />`
}

/** @param {{ operations: any[] }} props */
function Operations({ operations }) {
  return html`<h2>Requests</h2>
    <${Table}
      caption="Operations, and the idempotency keys of their requests"
      columns=${['Operation', 'Kind', 'Status', 'Recovery point', 'Idempotency key', 'Attempts', 'Lease epoch']}
      rows=${operations.map((operation) => ({
        key: operation.id,
        cells: [
          html`<${Id} id=${operation.id} />`,
          operation.operation,
          html`<${Status} status=${operation.status} />${
              operation.resume_would !== 'nothing' &&
              html`<br /><span class="quiet">To resume: ${operation.resume_effect}</span>`
            }`,
          operation.recovery_point,
          html`<${Foreign} text=${operation.idempotency_key} />
            <${Replays} of=${operation.request_replays} />`,
          operation.attempts,
          operation.lease_epoch,
        ],
      }))}
    />`
}

/** @param {{ of: any }} props */
function Replays({ of: { count, conflicts, mismatches, last_at: lastAt } }) {
  if (lastAt === null) return null
  const parts = [
    count > 0 && `replayed ${plural(count, 'time')}`,
    conflicts > 0 && `refused ${plural(conflicts, 'time')} while in progress`,
    mismatches > 0 && `refused ${plural(mismatches, 'time')} for another request`,
  ]
  return html`<span class="quiet">
    ${` ${parts.filter(Boolean).join(', ')}; last at `}<${Time} at=${lastAt}
  /></span>`
}

/** @param {{ refunds: any[] }} props */
function Refunds({ refunds }) {
  if (refunds.length === 0) return null
  return html`<h2>Refunds</h2>
    <${Table}
      caption="Refunds"
      columns=${['Refund', 'Status', 'Amount', 'Reason', 'Created']}
      rows=${refunds.map((refund) => ({
        key: refund.id,
        cells: [
          html`<${Id} id=${refund.id} />`,
          html`<${Status} status=${refund.status} />`,
          html`<${Amount} minor=${refund.amount} currency=${refund.currency} />`,
          html`<${Foreign} text=${refund.reason} />`,
          html`<${Time} at=${refund.created_at} />`,
        ],
      }))}
    />`
}

/** @param {{ disputes: any[] }} props */
function Disputes({ disputes }) {
  if (disputes.length === 0) return null
  return html`<h2>Disputes</h2>
    <${Table}
      caption="Disputes"
      columns=${['Dispute', 'Status', 'Amount', 'Reason', 'Evidence due']}
      rows=${disputes.map((dispute) => ({
        key: dispute.id,
        cells: [
          html`<${Id} id=${dispute.id} />`,
          html`<${Status} status=${dispute.status} />`,
          html`<${Amount} minor=${dispute.amount} currency=${dispute.currency} />`,
          html`<${Foreign} text=${dispute.reason} />`,
          html`<${Time} at=${dispute.evidence_due_at} />`,
        ],
      }))}
    />`
}
