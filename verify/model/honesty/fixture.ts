// The rows that both stores begin with: operations in any status, with payments and refunds that fit.
import type { Random } from '../../simulate/random.ts'
import {
  nameOfKey,
  operationIdOf,
  paymentIdOf,
  REFUNDED_PAYMENT_ID,
  refundIdOf,
  TENANT_ID,
} from '../programs/ids.ts'
import { emptyDatabase } from '../space/beginning.ts'
import { fullRow } from '../space/canonical.ts'
import { REFUND_MINOR } from '../space/space.ts'
import type { Database } from '../store/database.ts'
import type { Row, Value } from '../store/rows.ts'
import type { Schema } from '../store/schema.ts'

/** Far enough from now that nothing turns while a history runs. */
const LONG_SECONDS = 3_600

const STATUSES = ['pending', 'processing', 'expired', 'unknown', 'failed', 'completed'] as const
type Standing = (typeof STATUSES)[number]

export const KEYS = 3
/** The keys behind those of payments. */
export const REFUND_KEYS = [3, 4]

export function drawFixture(schema: Schema, random: Random): Database {
  const empty = emptyDatabase(schema, { operation: 'refund.create' })
  const standings = Array.from({ length: KEYS }, () => random.pick(STATUSES))
  const refunding = REFUND_KEYS.map(() => random.pick(STATUSES))
  const reserved = refunding.filter((standing) => HOLDS_AMOUNT.has(standing)).length
  const [refunded] = empty['payments'] ?? []
  const given = refunding.filter((standing) => standing === 'completed').length
  return {
    ...empty,
    payments: [
      ...standings.map((standing, key) => paymentRow(schema, key, standing)),
      {
        ...refunded,
        amount_refunding_minor: reserved * REFUND_MINOR,
        amount_refunded_minor: given * REFUND_MINOR,
      },
    ],
    refunds: refunding.map((standing, index) =>
      refundRow(schema, REFUND_KEYS[index] ?? 0, standing),
    ),
    idempotency_keys: [
      ...standings.map((standing, key) => keyRow(schema, random, key, standing, false)),
      ...refunding.map((standing, index) =>
        keyRow(schema, random, REFUND_KEYS[index] ?? 0, standing, true),
      ),
    ],
    'pgboss.job': [],
  }
}

const HOLDS_AMOUNT = new Set<Standing>(['pending', 'processing', 'expired', 'unknown'])

const SHOWN: Readonly<Record<Standing, string>> = {
  pending: 'processing',
  processing: 'processing',
  expired: 'processing',
  unknown: 'unknown',
  failed: 'failed',
  completed: 'succeeded',
}

const BEFORE: Readonly<Record<Standing, string | null>> = {
  pending: null,
  processing: 'processing',
  expired: null,
  unknown: 'processing',
  failed: 'processing',
  completed: 'processing',
}

function paymentRow(schema: Schema, key: number, standing: Standing): Row {
  const isDone = standing === 'completed'
  return fullRow(schema, 'payments', {
    tenant_id: TENANT_ID,
    id: paymentIdOf(key, 1),
    amount_minor: 1_000,
    amount_captured_minor: isDone ? 1_000 : 0,
    amount_refunded_minor: 0,
    amount_refunding_minor: 0,
    currency: 'usd',
    status: SHOWN[standing],
    previous_status: BEFORE[standing],
    capture_method: 'automatic',
    payment_method: 'pm_card_visa',
    metadata: {},
    provider: 'stripe',
    provider_payment_id: isDone ? `pi_${key}` : null,
    created_at: 0,
    updated_at: 0,
  })
}

function refundRow(schema: Schema, key: number, standing: Standing): Row {
  return fullRow(schema, 'refunds', {
    tenant_id: TENANT_ID,
    id: refundIdOf(key, 1),
    payment_id: REFUNDED_PAYMENT_ID,
    amount_minor: REFUND_MINOR,
    currency: 'usd',
    status: SHOWN[standing],
    // A refund that works has no step behind it that leads to itself.
    previous_status: SHOWN[standing] === 'processing' ? null : BEFORE[standing],
    metadata: {},
    provider_refund_id: standing === 'completed' ? `re_${key}` : null,
    created_at: 0,
    updated_at: 0,
  })
}

function keyRow(
  schema: Schema,
  random: Random,
  key: number,
  standing: Standing,
  isRefund: boolean,
): Row {
  const isWorking = standing === 'processing' || standing === 'expired'
  const status = STATUS[standing]
  const point = standing === 'completed' ? 'finished' : isRefund ? 'started' : pointOf(random)
  return fullRow(schema, 'idempotency_keys', {
    tenant_id: TENANT_ID,
    id: operationIdOf(key, 1),
    key: nameOfKey(key),
    fingerprint: '\\x00',
    operation: isRefund ? 'refund.create' : 'payment.create',
    payment_id: isRefund ? REFUNDED_PAYMENT_ID : paymentIdOf(key, 1),
    refund_id: isRefund ? refundIdOf(key, 1) : null,
    parameters: {},
    status,
    recovery_point: point,
    lease_epoch: 1,
    lease_expires_at: !isWorking ? null : standing === 'expired' ? -LONG_SECONDS : LONG_SECONDS,
    attempts: random.below(3),
    in_doubt: standing === 'unknown',
    phase_began_at:
      isWorking || standing === 'unknown' ? -random.below(2) * 2 * LONG_SECONDS : null,
    unknown_at: standing === 'unknown' ? -LONG_SECONDS : null,
    next_check_at: standing === 'unknown' ? random.pick([-LONG_SECONDS, LONG_SECONDS]) : null,
    created_at: -key,
    expires_at: random.pick([-LONG_SECONDS, LONG_SECONDS]),
    ...(standing === 'completed' ? COMPLETED : {}),
  })
}

const STATUS: Readonly<Record<Standing, Value>> = {
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
