// Draws the initial rows of a history: operations in random states, with matching payments and
// refunds.
import {
  GENERATED_ID_PREFIX,
  MODEL_ID_PREFIX,
  nameOfKey,
  operationIdOf,
  paymentIdOf,
  REFUNDED_PAYMENT_ID,
  refundIdOf,
  TENANT_ID,
  UUID,
} from '../programs/ids.ts'
import { type Database, isObject, type Row, type Value } from '../store/rows.ts'
import type { Random } from '../../simulate/random.ts'
import { fullRow, initialDatabase, paymentRow } from '../space/canonical.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from '../space/space.ts'
import type { Schema } from '../store/schema.ts'
import type { StatementResult } from './memory-sessions.ts'

/** Columns whose values differ between the stores. */
const NOT_COMPARABLE = new Set([
  'phase_age_ms',
  'age_ms',
  'age_seconds',
  'due_in_seconds',
  'unknown_for_seconds',
  'fee_fixed_minor',
])

const isTimestamp = (name: string): boolean => name.endsWith('_at')

export function comparable(result: StatementResult | undefined): string {
  if (result === undefined) return 'waits'
  if (result.kind === 'error') return `error ${result.code} ${result.constraint ?? ''}`
  return JSON.stringify({ count: result.count, rows: result.rows.map(normalizeRow).toSorted() })
}

function normalizeRow(row: Row): string {
  return JSON.stringify(normalize(row))
}

function normalize(value: Value): Value {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value as never).toString('hex')}`
  if (typeof value === 'string') return withoutStoreIds(value)
  if (Array.isArray(value)) return value.map((part: Value) => normalize(part))
  if (!isObject(value)) return value
  const names = Object.keys(value)
    .filter((name) => !NOT_COMPARABLE.has(name))
    .toSorted()
  return Object.fromEntries(
    names.map((name) => {
      const part = value[name] ?? null
      return [name, isTimestamp(name) ? part !== null : normalize(part)]
    }),
  )
}

/** Each store generates ids of its own. */
function withoutStoreIds(text: string): string {
  const isOfModel = (id: string) =>
    id.startsWith(MODEL_ID_PREFIX) || id.startsWith(GENERATED_ID_PREFIX)
  return text
    .replaceAll(UUID, (id) => (isOfModel(id) ? id : 'of the store'))
    .replaceAll(/\bjob-\d+-\d+\b/g, 'of the store')
}

/** The tables that are compared at the end of a history, with the columns that must be equal. */
const COMPARED: Readonly<Record<string, readonly string[]>> = {
  idempotency_keys: [
    'key',
    'status',
    'parameters',
    'recovery_point',
    'lease_epoch',
    'attempts',
    'in_doubt',
    'lease_expires_at',
    'phase_began_at',
    'unknown_at',
    'next_check_at',
    'response_status',
    'cancellation',
  ],
  provider_events: ['id', 'object_id', 'status', 'settled_at'],
  payments: [
    'status',
    'previous_status',
    'amount_captured_minor',
    'amount_refunding_minor',
    'amount_refunded_minor',
    'reference',
  ],
  refunds: ['status', 'previous_status', 'amount_minor', 'reference'],
  disputes: ['payment_id', 'provider_dispute_id', 'status'],
  ledger_postings: ['kind', 'debit', 'credit', 'amount_minor'],
  phase_runs: ['operation', 'phase', 'reached', 'lease_epoch'],
  events: ['type'],
  key_tombstones: ['payment_id'],
  reconciliation_findings: ['kind', 'object_id', 'status'],
  'atomic_jobs.job': ['name', 'data'],
}

export const comparedTables = Object.keys(COMPARED)

export function comparableTable(table: string, rows: readonly Row[]): string[] {
  const columns = COMPARED[table] ?? []
  return rows
    .map((row) => {
      const values = columns.map((name) => {
        const value = row[name] ?? null
        if (isTimestamp(name)) return value !== null
        return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : normalize(value)
      })
      return JSON.stringify(values)
    })
    .toSorted()
}

export function comparableDatabase(database: Database): Record<string, string[]> {
  return Object.fromEntries(
    comparedTables.map((table) => [table, comparableTable(table, database[table] ?? [])]),
  )
}

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
    failure_stored: isInDoubt && random.percent(50),
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
