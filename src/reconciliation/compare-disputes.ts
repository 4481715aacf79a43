// How disputes are compared: those that the provider opened in the window, and ours that are not closed. The
// provider opens them, so that one of a payment of ours that we do not have is followed, too.
import { hash } from 'node:crypto'
import type { Sql } from '../db/connection/client.ts'
import { showDisputeId, disputeHasMovedOn, type Dispute } from '../domain/payments/dispute.ts'
import { showPaymentId } from '../domain/payments/payment.ts'
import type { ProviderDispute } from '../provider/payment-provider.ts'
import type { OurRecord, RecordKind } from './judge-record.ts'
import { comparedIdsOf, findRecords, type ComparedId } from './our-records.ts'

/** The disputed payment, and the dispute if we have it. */
interface OurDispute extends OurRecord {
  readonly paymentId: string
  readonly providerDisputeId: string
  readonly dispute: Dispute | null
}

export const disputeRecords: RecordKind<OurDispute, ProviderDispute> = {
  table: 'disputes',
  list: (provider, ...args) => provider.listDisputes(...args),
  read: (provider, objectId) => provider.readDispute(objectId),
  objectIdOf: ({ providerDisputeId }) => providerDisputeId,
  objectIdIn: ({ providerDisputeId }) => providerDisputeId,
  ourIdIn: () => null,
  subjectOf: ({ tenantId, paymentId }) => ({ tenantId, paymentId }),
  describeOurs: ({ dispute }) =>
    dispute && {
      dispute: showDisputeId(dispute.id),
      payment: showPaymentId(dispute.paymentId),
      status: dispute.status,
      amount: dispute.amountMinor,
      currency: dispute.currency,
    },
  describeTheirs: ({ providerStatus, createdAt, providerPaymentId }) => ({
    kind: 'dispute',
    status: providerStatus?.status ?? 'none that is known here',
    amount: providerStatus?.amountMinor ?? null,
    currency: providerStatus?.currency ?? null,
    created_at: createdAt.toISOString(),
    provider_payment_id: providerPaymentId,
  }),
  find: findOurs,
  isWaiting: (sql) => sql`entry.status not in ('warning_closed', 'won', 'lost', 'prevented')`,
  compare({ dispute }, { providerStatus }) {
    if (providerStatus === undefined) return ['status_differs']
    return dispute === null || disputeHasMovedOn(dispute, providerStatus) ? 'moved_on' : []
  },
  stateOf({ dispute }, { providerStatus }) {
    // One event for each change: any member can be what has changed, and can change back.
    const change = JSON.stringify({ from: dispute, to: providerStatus })
    return `${providerStatus?.status}_${hash('sha256', change).slice(0, 16)}`
  },
}

async function findOurs(
  sql: Sql,
  provider: string,
  wanted: readonly ComparedId[],
  page: readonly ProviderDispute[],
): Promise<OurDispute[]> {
  const disputes = await findRecords(sql, 'disputes', provider, wanted)
  const disputed = page.flatMap(({ providerPaymentId }) => comparedIdsOf(providerPaymentId))
  const payments = await findRecords(sql, 'payments', provider, disputed)
  return page.flatMap(({ providerDisputeId, providerPaymentId }) => {
    const dispute = disputes.find((one) => one.providerDisputeId === providerDisputeId) ?? null
    const payment = payments.find((one) => one.providerPaymentId === providerPaymentId)
    const disputedIn = payment ? { tenantId: payment.tenantId, paymentId: payment.id } : dispute
    if (disputedIn === null) return []
    const { tenantId, paymentId } = disputedIn
    const { id, status } = dispute ?? { id: providerDisputeId, status: '' }
    return [{ tenantId, id, status, paymentId, providerDisputeId, dispute }]
  })
}
