// A call of a function of src, which sends the function's statements, and the arguments of the examples.
// They select the variants of the statements.
import type { Intent } from '../../src/db/idempotency/intent.ts'
import type { LocalRequest } from '../../src/http/keyed/keyed-locally.ts'
import type { Claim } from '../../src/db/operations/leases.ts'
import type { RepeatRule } from '../../src/recovery/sweeper.ts'
import type { OperationOverview } from '../../src/http/operators/operations-search.ts'
import type { NewFinding } from '../../src/db/operations/findings.ts'
import type { ProviderEvent } from '../../src/domain/events/provider-event.ts'
import type { Payment } from '../../src/domain/payments/payment.ts'
import type { Dispute } from '../../src/domain/payments/dispute.ts'
import type { Refund } from '../../src/domain/payments/refund.ts'
import type { ApiKey } from '../../src/domain/tenants/api-key.ts'
import type { Answer, RecordingSql, Send } from './record-statements.ts'

export const ID = '01890a5d-ac96-774b-bcce-b302099a8057'
export const REF = { tenantId: ID, id: ID }
export const PROVIDER_FEE = {
  kind: 'capture',
  tenantId: ID,
  paymentId: ID,
  refundId: null,
  currency: 'usd',
  posting: { debit: 'provider_fees', credit: 'provider_receivable', amountMinor: 88 },
} as const
export const KEY = 'order-1'
export const PROVIDER = 'stripe'
export const NOW = new Date(0)
export const WINDOW = { from: NOW, to: NOW }
export const LIMIT = 100
export const LEASE_MS = 20_000
export const RETENTION_SECONDS = 86_400
export const CHECK_DELAYS_SECONDS = [5, 60]
export const RESPONSE = { status: 201, headers: {}, body: '{}' }
export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
/** Of the form of an API key. */
export const SECRET = `sk_test_${'0'.repeat(32)}`

/** A later page of a list. */
export const PAGE = { limit: LIMIT, startingAfter: ID }

export const payment: Payment = {
  tenantId: ID,
  id: ID,
  amountMinor: 1999,
  amountCapturedMinor: 1999,
  amountRefundedMinor: 0,
  amountRefundingMinor: 0,
  currency: 'usd',
  status: 'processing',
  previousStatus: null,
  captureMethod: 'automatic',
  paymentMethod: 'pm_card_visa',
  customer: null,
  description: null,
  reference: null,
  metadata: {},
  failure: null,
  cancellationReason: null,
  captureBefore: null,
  provider: PROVIDER,
  providerPaymentId: 'pi_1',
  clientSecret: null,
  createdAt: NOW,
}

export const refund: Refund = {
  tenantId: ID,
  id: ID,
  paymentId: ID,
  amountMinor: 500,
  currency: 'usd',
  status: 'processing',
  moved: false,
  reason: null,
  reference: null,
  metadata: {},
  failure: null,
  providerRefundId: null,
  createdAt: NOW,
}

export const dispute: Dispute = {
  tenantId: ID,
  id: ID,
  paymentId: ID,
  providerDisputeId: 'du_1',
  amountMinor: 1999,
  currency: 'usd',
  reason: 'fraudulent',
  status: 'needs_response',
  evidenceDueAt: NOW,
  withdrawnMinor: 0,
  reinstatedMinor: 0,
  feeMinor: 0,
  feeCurrency: null,
  openedAt: NOW,
  createdAt: NOW,
}

export const intent: Intent = {
  tenantId: ID,
  id: ID,
  key: KEY,
  fingerprint: Buffer.alloc(32),
  operation: 'payment.create',
  paymentId: ID,
  refundId: null,
  parameters: {},
  retentionSeconds: RETENTION_SECONDS,
  expiredKeys: 'gone',
  traceparent: TRACEPARENT,
}

export const localReservation: LocalRequest = {
  tenantId: ID,
  id: ID,
  key: KEY,
  fingerprint: Buffer.alloc(32),
  operation: 'webhook_endpoint.create',
  retentionSeconds: RETENTION_SECONDS,
  expiredKeys: 'gone',
}

/** The rows of resources that an operation changes. */
export const paymentRow = {
  id: ID,
  status: 'succeeded',
  previous_status: 'processing',
  currency: 'usd',
  amount_captured_minor: 1999,
  amount_refunded_minor: 0,
  amount_refunding_minor: 0,
}
export const refundRow = {
  tenant_id: ID,
  id: ID,
  payment_id: ID,
  status: 'succeeded',
  previous_status: 'processing',
  amount_minor: 500,
}
export const disputeRow = { id: ID, payment_id: ID, status: 'needs_response' }

/** An operation with a new job. */
export const queued = { ...REF, jobId: ID }

/** An event of the provider with a new job. */
export const queuedEvent = { provider: PROVIDER, eventId: 'evt_1', tenantId: ID }

/** The row of an event, and of an endpoint that subscribed to it. */
export const writtenEvent = { id: ID, type: 'payment.succeeded' }
export const subscriber = { id: ID, event_types: ['*'] }

export const claim: Claim = {
  tenantId: ID,
  id: ID,
  operation: 'payment.create',
  key: KEY,
  createdAt: NOW,
  parameters: {},
  paymentId: ID,
  recoveryPoint: 'started',
  leaseEpoch: 1,
  attempt: 1,
  inDoubt: false,
  phaseAgeMs: 0,
  ageMs: 0,
  keyGeneration: 0,
  payment,
  refund,
  dispute: null,
  fees: { basisPoints: 290, fixedMinor: 30 },
}

export const phaseRun = {
  phase: 'started',
  reached: 'finished',
  outcome: undefined,
  startedAt: NOW,
}

export const repeatRule: RepeatRule = {
  keyWindows: [{ provider: 'stripe', seconds: RETENTION_SECONDS }],
  localPhases: [{ operation: 'payment.create', recoveryPoint: 'captured' }],
  attempts: 10,
}

export const overview: OperationOverview = {
  ...REF,
  key: KEY,
  operation: 'payment.create',
  status: 'completed',
  recoveryPoint: 'finished',
  attempts: 1,
  leaseEpoch: 1,
  leaseExpiresAt: null,
  leaseRanOut: false,
  jobless: false,
  inDoubt: false,
  phaseAgeMs: null,
  lastError: null,
  unknownAt: null,
  nextCheckAt: null,
  checkedAt: null,
  evidence: null,
  paymentId: ID,
  provider: PROVIDER,
  refundId: null,
  createdAt: NOW,
  finishedAt: NOW,
  finding: null,
}

export const providerEvent: ProviderEvent = {
  provider: PROVIDER,
  id: 'evt_1',
  type: 'charge.refunded',
  about: 'payment',
  objectId: 'ch_1',
  providerPaymentId: 'pi_1',
  subject: { tenantId: ID, paymentId: ID },
  occurredAt: NOW,
}

export const finding: NewFinding = {
  provider: PROVIDER,
  kind: 'missing_here',
  objectId: 'pi_1',
  runId: ID,
  subject: null,
  ours: null,
  theirs: {},
}

export const run = { id: ID, provider: PROVIDER, ...WINDOW }

export const apiKey: ApiKey = {
  tenantId: ID,
  id: ID,
  prefix: 'sk_test_0',
  scopes: ['*'],
  status: 'active',
  createdAt: NOW,
  expiresAt: null,
  revokedAt: null,
}

export const webhookJob = { tenantId: ID, deliveryId: ID, attempt: 1 }

export const newEndpoint = {
  tenantId: ID,
  id: ID,
  url: 'https://shop.example/hooks',
  description: null,
  eventTypes: ['*'],
  secret: 'whsec_0',
}

/** A row was written. */
export const WRITTEN = [[{}]]

/** An event was written, which an endpoint gets. */
export const WITH_DELIVERY = [[writtenEvent], [subscriber]]

export interface Example {
  /** The function's name. */
  readonly name: string
  readonly send: Send
  /** Rows that make the function send all its statements; see `recordStatements`. */
  readonly answers: readonly Answer[]
}

/**
 * @param sender the function that sends the statements.
 * @param call its arguments behind the connection; or how it is called, if another function returns it.
 */
export function example<Arguments extends readonly unknown[]>(
  sender: (sql: RecordingSql, ...rest: Arguments) => unknown,
  call: NoInfer<Arguments>,
  answers?: readonly Answer[],
): Example
export function example(sender: Named, call: Send, answers?: readonly Answer[]): Example
export function example(
  sender: Named,
  call: readonly unknown[] | Send,
  answers: readonly Answer[] = [],
): Example {
  const caller = sender as unknown as (...all: unknown[]) => unknown
  const send: Send = typeof call === 'function' ? call : (sql) => caller(sql, ...call)
  return { name: sender.name, send, answers }
}

interface Named {
  readonly name: string
}
