// Tests the verdict for each status of a refund of ours with each status at the provider.
import { expect, test } from '@jest/globals'
import {
  refundStatuses,
  type Refund,
  type RefundStatus,
  type RefundProviderStatus,
} from '../../src/domain/payments/refund.ts'
import type { ProviderRefund } from '../../src/provider/payment-provider.ts'
import { refundRecords } from '../../src/reconciliation/record-kinds.ts'
import { judgeMissing, judgeRecord, type Verdict } from '../../src/reconciliation/judge-record.ts'

const created = new Date('2026-03-01T12:00:00Z')

function ours(fields: Partial<Refund> = {}): Refund {
  return {
    tenantId: '019a0000-0000-7000-8000-000000000002',
    id: '019a0000-0000-7000-8000-000000000003',
    paymentId: '019a0000-0000-7000-8000-000000000001',
    amountMinor: 400,
    currency: 'usd',
    status: 'succeeded',
    reason: null,
    reference: null,
    metadata: {},
    failure: null,
    providerRefundId: 're_1',
    moved: true,
    createdAt: created,
    ...fields,
  }
}

function theirs(fields: Partial<ProviderRefund> = {}): ProviderRefund {
  return {
    providerRefundId: 're_1',
    providerPaymentId: 'pi_1',
    amountMinor: 400,
    currency: 'usd',
    providerStatus: providerStatusOf('succeeded'),
    createdAt: created,
    correlation: null,
    ...fields,
  }
}

function providerStatusOf(
  status: RefundProviderStatus['status'],
  moved = true,
): RefundProviderStatus {
  return { providerRefundId: 're_1', status, moved }
}

const said = (verdict: Verdict) =>
  typeof verdict === 'string' ? verdict : verdict.join() || 'agrees'

const statuses = ['succeeded', 'pending', 'requires_action', 'failed', 'canceled'] as const

const [same, differs, busy] = ['agrees', 'status_differs', 'in_motion']
// prettier-ignore
const table: Record<RefundStatus, readonly string[]> = {
  //                succeeded   pending     requires_action failed      canceled    none of these
  processing:      [busy,       busy,       busy,           busy,       busy,       busy],
  unknown:         ['unknown',  'unknown',  'unknown',      'unknown',  'unknown',  'unknown'],
  pending:         ['moved_on', same,       'moved_on',     'moved_on', 'moved_on', differs],
  requires_action: ['moved_on', 'moved_on', same,           'moved_on', 'moved_on', differs],
  succeeded:       [same,       busy,       busy,           'moved_on', 'moved_on', differs],
  declined:        [differs,    differs,    differs,        same,       same,       differs],
  failed:          [differs,    differs,    differs,        same,       differs,    differs],
  canceled:        [differs,    differs,    differs,        differs,    same,       differs],
}

test.each(refundStatuses)('a refund that is %s', (status) => {
  const providerStatuses = [...statuses.map((their) => providerStatusOf(their)), undefined]

  const verdicts = providerStatuses.map((providerStatus) =>
    said(judgeRecord(refundRecords, ours({ status }), theirs({ providerStatus }))),
  )

  expect(verdicts).toEqual(table[status])
})

test.each([
  [
    'a pending one whose money has moved since',
    ours({ status: 'pending', moved: false }),
    theirs({ providerStatus: providerStatusOf('pending') }),
    'moved_on',
  ],
  ['another amount', ours(), theirs({ amountMinor: 399 }), 'amount_differs'],
  ['another currency', ours(), theirs({ currency: 'eur' }), 'currency_differs'],
  ['none of ours', undefined, theirs(), 'missing_here'],
  ['a second one', ours({ providerRefundId: 're_2' }), theirs(), 'refunded_twice'],
  [
    'a second one that failed',
    ours({ providerRefundId: 're_2' }),
    theirs({ providerStatus: providerStatusOf('failed') }),
    'agrees',
  ],
  [
    'one that was given up here',
    ours({ status: 'failed', providerRefundId: null }),
    theirs(),
    'status_differs',
  ],
  [
    'one that is being made',
    ours({ status: 'processing', providerRefundId: null }),
    theirs(),
    'in_motion',
  ],
] as const)('%s', (_, our, their, expected) => {
  expect(said(judgeRecord(refundRecords, our, their))).toBe(expected)
})

test.each([
  ['succeeded', 'missing_there'],
  ['processing', 'in_motion'],
  ['unknown', 'unknown'],
] as [RefundStatus, string][])('without a record, a refund that is %s: %s', (status, expected) => {
  expect(said(judgeMissing(ours({ status })))).toBe(expected)
})
