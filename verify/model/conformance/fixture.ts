// Draws the initial rows of a history: operations in random states, with matching payments and
// refunds.
import type { Random } from '../../simulate/random.ts'
import {
  nameOfKey,
  operationIdOf,
  paymentIdOf,
  REFUNDED_PAYMENT_ID,
  refundIdOf,
  TENANT_ID,
} from '../programs/ids.ts'
import { initialDatabase, paymentRow } from '../space/initial-store.ts'
import { fullRow } from '../space/canonical.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from '../space/space.ts'
import type { Database } from '../store/database.ts'
import type { Row, Value } from '../store/rows.ts'
import type { Schema } from '../store/schema.ts'

/** Far enough from now that no timestamp passes while a history runs. */
const LONG_SECONDS = 3_600

const OPERATION_STATES = [
  'pending',
  'processing',
  'expired',
  'unknown',
  'failed',
  'completed',
] as const
type OperationState = (typeof OPERATION_STATES)[number]

const KEYS = 3
/** The keys of the refunds; they follow the keys of the payments. */
export const REFUND_KEYS = [3, 4]
/** What a payment or a refund may have as its reference. */
export const REFERENCES = [null, 'order-1', 'order-2'] as const
type Reference = (typeof REFERENCES)[number]

export function drawFixture(schema: Schema, random: Random): Database {
  const empty = initialDatabase(schema, { operation: 'refund.create' })
  const states = Array.from({ length: KEYS }, () => random.pick(OPERATION_STATES))
  const refundStates = REFUND_KEYS.map(() => random.pick(OPERATION_STATES))
  const references = drawReferences(random, states)
  const refundReferences = drawReferences(random, refundStates)
  const reserved = refundStates.filter((state) => RESERVES_AMOUNT.has(state)).length
  const [refunded] = empty['payments'] ?? []
  const refundedCount = refundStates.filter((state) => state === 'completed').length
  return {
    ...empty,
    payments: [
      ...states.map((state, key) => drawnPayment(schema, key, state, references[key])),
      {
        ...refunded,
        amount_refunding_minor: reserved * REFUND_MINOR,
        amount_refunded_minor: refundedCount * REFUND_MINOR,
      },
    ],
    refunds: refundStates.map((state, index) =>
      refundRow(schema, REFUND_KEYS[index] ?? 0, state, refundReferences[index]),
    ),
    idempotency_keys: [
      ...states.map((state, key) => keyRow(schema, random, key, state, false)),
      ...refundStates.map((state, index) =>
        keyRow(schema, random, REFUND_KEYS[index] ?? 0, state, true),
      ),
    ],
    'atomic_jobs.job': [],
  }
}

/** A reference belongs to one of those that have not failed. */
function drawReferences(random: Random, states: readonly OperationState[]): Reference[] {
  const used = new Set<Reference>()
  return states.map((state) => {
    const reference = random.pick(REFERENCES)
    if (reference === null || state === 'failed') return reference
    if (used.has(reference)) return null
    used.add(reference)
    return reference
  })
}

const RESERVES_AMOUNT = new Set<OperationState>(['pending', 'processing', 'expired', 'unknown'])

const RESOURCE_STATUS = {
  pending: 'processing',
  processing: 'processing',
  expired: 'processing',
  unknown: 'unknown',
  failed: 'failed',
  completed: 'succeeded',
} as const

const PREVIOUS_STATUS = {
  pending: null,
  processing: 'processing',
  expired: null,
  unknown: 'processing',
  failed: 'processing',
  completed: 'processing',
} as const

function drawnPayment(
  schema: Schema,
  key: number,
  state: OperationState,
  reference: Reference = null,
): Row {
  const isDone = state === 'completed'
  return paymentRow(schema, {
    id: paymentIdOf(key, 1),
    amount_captured_minor: isDone ? AMOUNT_MINOR : 0,
    status: RESOURCE_STATUS[state],
    previous_status: PREVIOUS_STATUS[state],
    reference,
    provider_payment_id: isDone ? `pi_${key}` : null,
  })
}

function refundRow(
  schema: Schema,
  key: number,
  state: OperationState,
  reference: Reference = null,
): Row {
  return fullRow(schema, 'refunds', {
    tenant_id: TENANT_ID,
    id: refundIdOf(key, 1),
    payment_id: REFUNDED_PAYMENT_ID,
    amount_minor: REFUND_MINOR,
    currency: 'usd',
    status: RESOURCE_STATUS[state],
    // No status change leads from `processing` to `processing` in a refund.
    previous_status: RESOURCE_STATUS[state] === 'processing' ? null : PREVIOUS_STATUS[state],
    reference,
    metadata: {},
    provider_refund_id: state === 'completed' ? `re_${key}` : null,
    moved: state === 'completed',
    created_at: 0,
    updated_at: 0,
  })
}

function keyRow(
  schema: Schema,
  random: Random,
  key: number,
  state: OperationState,
  isRefund: boolean,
): Row {
  const isWorking = state === 'processing' || state === 'expired'
  const status = KEY_STATUS[state]
  const point = state === 'completed' ? 'finished' : isRefund ? 'started' : pointOf(random)
  const isInDoubt =
    state === 'unknown' || ((isWorking || state === 'pending') && random.percent(30))
  return fullRow(schema, 'idempotency_keys', {
    tenant_id: TENANT_ID,
    id: operationIdOf(key, 1),
    key: nameOfKey(key),
    fingerprint: '\\x00',
    fingerprint_version: 1,
    response_version: 1,
    operation: isRefund ? 'refund.create' : 'payment.create',
    payment_id: isRefund ? REFUNDED_PAYMENT_ID : paymentIdOf(key, 1),
    refund_id: isRefund ? refundIdOf(key, 1) : null,
    parameters: random.pick([{}, { fallback: { provider: 'other', payment_method: 'nonce' } }]),
    status,
    recovery_point: point,
    lease_epoch: 1,
    lease_expires_at: !isWorking ? null : state === 'expired' ? -LONG_SECONDS : LONG_SECONDS,
    attempts: random.below(3),
    in_doubt: isInDoubt,
    failure_kept: isInDoubt && random.percent(50),
    failure_certain: random.percent(50),
    key_generation: random.below(2),
    phase_began_at: isWorking || state === 'unknown' ? -random.below(2) * 2 * LONG_SECONDS : null,
    unknown_at: state === 'unknown' ? -LONG_SECONDS : null,
    next_check_at: state === 'unknown' ? random.pick([-LONG_SECONDS, LONG_SECONDS]) : null,
    created_at: -key,
    expires_at: random.pick([-LONG_SECONDS, LONG_SECONDS]),
    ...(state === 'completed' ? COMPLETED : {}),
  })
}

const KEY_STATUS: Readonly<Record<OperationState, Value>> = {
  pending: 'pending',
  processing: 'processing',
  expired: 'processing',
  unknown: 'unknown',
  failed: 'failed_retryable',
  completed: 'completed',
}

const COMPLETED: Row = {
  finished_at: -LONG_SECONDS,
  response_status: 201,
  response_headers: {},
  response_body: '{}',
}

const pointOf = (random: Random): string => random.pick(['started', 'authorized'])
