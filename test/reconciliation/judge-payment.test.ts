// Tests the verdict for each status of ours with each provider status.
import { describe, expect, test } from '@jest/globals'
import {
  paymentStatuses,
  type PaymentStatus,
  type Payment,
} from '../../src/domain/payments/payment.ts'
import type { ProviderStatus } from '../../src/domain/payments/provider-status.ts'
import { showId } from '../../src/domain/resource-id.ts'
import type { ProviderPayment } from '../../src/provider/payment-provider.ts'
import { paymentRecords } from '../../src/reconciliation/record-kinds.ts'
import {
  differencesIn,
  judgeMissing,
  judgeRecord,
  type Verdict,
} from '../../src/reconciliation/judge-record.ts'

const PAYMENT_ID = '019a0000-0000-7000-8000-000000000001'
const TENANT_ID = '019a0000-0000-7000-8000-000000000002'
const OPERATION_ID = '019a0000-0000-7000-8000-000000000003'

function ours(fields: Partial<Payment> = {}): Payment {
  return {
    tenantId: TENANT_ID,
    id: PAYMENT_ID,
    amountMinor: 1_000,
    amountCapturedMinor: fields.status === 'succeeded' ? 1_000 : 0,
    amountRefundedMinor: 0,
    amountRefundingMinor: 0,
    currency: 'usd',
    status: 'succeeded',
    previousStatus: 'processing',
    captureMethod: 'manual',
    paymentMethod: 'pm_card_visa',
    customer: null,
    description: null,
    reference: null,
    metadata: {},
    failure: null,
    cancellationReason: null,
    captureBefore: null,
    provider: 'stripe',
    providerPaymentId: 'pi_1',
    clientSecret: null,
    createdAt: new Date('2026-03-01T12:00:00Z'),
    ...fields,
  }
}

function theirs(fields: Partial<ProviderPayment> = {}): ProviderPayment {
  return {
    providerPaymentId: 'pi_1',
    amountMinor: 1_000,
    currency: 'usd',
    providerStatus: providerStatusOf('captured'),
    createdAt: new Date('2026-03-01T12:00:00Z'),
    correlation: {
      tenantId: TENANT_ID,
      paymentId: PAYMENT_ID,
      refundId: null,
      operationId: OPERATION_ID,
    },
    ...fields,
  }
}

type Stands = ProviderStatus['status'] | 'strange'

function providerStatusOf(status: Stands): ProviderStatus | undefined {
  switch (status) {
    case 'captured':
      return { status, amountCapturedMinor: 1_000 }
    case 'refused':
      return { status, failure: { code: 'card_declined', declineCode: null, message: '' } }
    case 'undecided':
      return { status }
    case 'held':
      return { status, captureBefore: null }
    case 'canceled':
      return { status, reason: null }
    case 'strange':
      return undefined
  }
}

const said = (verdict: Verdict) =>
  typeof verdict === 'string' ? verdict : verdict.join() || 'agrees'

const verdictOf = (our: Payment | undefined, their: ProviderPayment) =>
  said(judgeRecord(paymentRecords, our, their))

/** The verdict for each of `stands`. */
const verdictsOf = (our: Payment | undefined) =>
  stands.map((stand) => verdictOf(our, theirs({ providerStatus: providerStatusOf(stand) })))

const stands: readonly Stands[] = [
  'undecided',
  'held',
  'captured',
  'canceled',
  'refused',
  'strange',
]

describe('a payment that names the provider’s record', () => {
  const [differs, moved] = ['status_differs', 'moved_on']
  // prettier-ignore
  const table: Record<PaymentStatus, readonly string[]> = {
    //                 undecided    held         captured     canceled     refused      strange
    processing:       ['in_motion', 'in_motion', 'in_motion', 'in_motion', 'in_motion', 'in_motion'],
    requires_action:  ['agrees',    moved,       moved,       moved,       moved,       differs],
    requires_capture: [differs,     'agrees',    moved,       moved,       moved,       differs],
    unknown:          ['unknown',   'unknown',   'unknown',   'unknown',   'unknown',   'unknown'],
    failed:           [differs,     differs,     differs,     'agrees',    'agrees',    differs],
    succeeded:        [differs,     differs,     'agrees',    differs,     differs,     differs],
    declined:         [differs,     differs,     differs,     'agrees',    'agrees',    differs],
    canceled:         [differs,     differs,     differs,     'agrees',    differs,     differs],
  }

  test.each(paymentStatuses)('%s', (status) => {
    expect(verdictsOf(ours({ status }))).toEqual(table[status])
  })

  test.each([
    ['another amount', { amountMinor: 999 }, 'amount_differs'],
    ['another currency', { currency: 'eur' }, 'currency_differs'],
    ['both', { amountMinor: 999, currency: 'eur' }, 'amount_differs,currency_differs'],
    [
      'another amount taken',
      { providerStatus: { status: 'captured', amountCapturedMinor: 900 } },
      'amount_differs',
    ],
    [
      'all at once',
      { amountMinor: 999, currency: 'eur', providerStatus: { status: 'canceled', reason: null } },
      'amount_differs,currency_differs,status_differs',
    ],
  ] as [string, Partial<ProviderPayment>, string][])('%s', (_, fields, expected) => {
    expect(verdictOf(ours({ status: 'succeeded' }), theirs(fields))).toBe(expected)
  })

  test('is not followed when its amount or currency differs', () => {
    const other = theirs({ amountMinor: 999 })

    expect(verdictOf(ours({ status: 'requires_capture' }), other)).toBe('amount_differs')
  })

  test('held money of an automatic payment whose capture was given up is left to its client', () => {
    const waiting = ours({ status: 'requires_capture', captureMethod: 'automatic' })

    expect(verdictOf(waiting, theirs({ providerStatus: providerStatusOf('held') }))).toBe('agrees')
  })
})

describe('a record that names a payment, which does not name the record', () => {
  // prettier-ignore
  const table: [string, Partial<Payment>, readonly string[]][] = [
    //                                                             undecided        held             captured         canceled  refused   strange
    ['one that names another', { status: 'succeeded', providerPaymentId: 'pi_2' }, ['held_twice', 'held_twice', 'charged_twice', 'agrees', 'agrees', 'charged_twice']],
    ['one that failed',        { status: 'failed', providerPaymentId: null },      ['status_differs', 'status_differs', 'status_differs', 'agrees', 'agrees', 'status_differs']],
    ['one that was declined',  { status: 'declined', providerPaymentId: null },    ['status_differs', 'status_differs', 'status_differs', 'agrees', 'agrees', 'status_differs']],
    ['one that is being made', { status: 'processing', providerPaymentId: null },  ['in_motion', 'in_motion', 'in_motion', 'agrees', 'agrees', 'in_motion']],
    ['one that is unknown',    { status: 'unknown', providerPaymentId: null },     ['unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown']],
  ]

  test.each(table)('%s', (_, fields, expected) => {
    expect(verdictsOf(ours(fields))).toEqual(expected)
  })
})

test('a record without a payment of ours is always missing here', () => {
  expect(new Set(verdictsOf(undefined))).toEqual(new Set(['missing_here']))
})

test.each([
  ['processing', 'in_motion'],
  ['unknown', 'unknown'],
  ['succeeded', 'missing_there'],
  ['canceled', 'missing_there'],
] as [PaymentStatus, string][])(
  'without a record, a payment that is %s: %s',
  (status, expected) => {
    expect(said(judgeMissing(ours({ status })))).toBe(expected)
  },
)

test('the evidence contains both sides and names the payment', () => {
  const other = theirs({ amountMinor: 999 })

  expect(differencesIn(['amount_differs'], paymentRecords, ours(), other)).toEqual([
    {
      kind: 'amount_differs',
      objectId: 'pi_1',
      subject: { tenantId: TENANT_ID, paymentId: PAYMENT_ID },
      ours: expect.objectContaining({ status: 'succeeded', amount: 1_000, currency: 'usd' }),
      theirs: expect.objectContaining({
        status: 'captured',
        amount: 999,
        currency: 'usd',
        payment: showId('pay', PAYMENT_ID),
        operation: showId('op', OPERATION_ID),
      }),
    },
  ])
})
