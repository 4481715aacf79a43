// The invariants that Postgres itself keeps: each constraint refuses the row that it forbids, whoever
// writes it, and no row points at another tenant's.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Store } from '../../src/db/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { makeTenant, openTestStore } from './reservations.ts'

const INSTANT = '2026-01-01T00:00:00Z'

type Row = Record<string, unknown>

let database: TestDatabase
let store: Store
let tenantId: string
/** A payment that keys and phase runs may point at. */
let paymentId: string

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
  tenantId = await makeTenant(store)
  paymentId = randomUUID()
  await insert('payments', { id: paymentId })
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

/** A legal row of each table, as it is when its story begins. */
const legalRows = {
  payments: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    amount_minor: 1999,
    currency: 'usd',
    capture_method: 'automatic',
    payment_method: 'pm_card_visa',
    metadata: '{}',
    provider: 'stripe',
  }),
  idempotency_keys: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    key: randomUUID(),
    fingerprint: randomBytes(32),
    operation: 'payment.create',
    payment_id: paymentId,
    expires_at: INSTANT,
  }),
  phase_runs: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    payment_id: paymentId,
    operation_id: randomUUID(),
    operation: 'payment.create',
    attempt: 1,
    lease_epoch: 1,
    started_at: INSTANT,
  }),
  api_keys: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    prefix: 'sk_test_1',
    secret_hash: randomBytes(32),
  }),
}
type Table = keyof typeof legalRows

async function insert(table: Table, fields: Row): Promise<void> {
  const row: Row = { ...legalRows[table](), ...fields }
  await store.sql`insert into ${store.sql(table)} ${store.sql(row)}`
}

const leased = { status: 'processing', lease_expires_at: INSTANT }
const completed = {
  status: 'completed',
  recovery_point: 'finished',
  finished_at: INSTANT,
  response_status: 201,
  response_headers: '{}',
  response_body: '{}',
}
const declined = { status: 'declined', failure_code: 'card_declined' }
const held = { status: 'requires_capture', provider_payment_id: 'pi_held' }
const succeeded = {
  status: 'succeeded',
  provider_payment_id: 'pi_taken',
  amount_captured_minor: 1999,
}
const called = { outcome: 'done', asked: '{}', answered: '{}' }

describe('a legal row is taken', () => {
  const legal: [string, Table, Row][] = [
    ['a new payment', 'payments', {}],
    ['the smallest amount', 'payments', { amount_minor: 1 }],
    ['the largest amount', 'payments', { amount_minor: 99_999_999 }],
    ['a declined payment', 'payments', declined],
    ['a payment that is held', 'payments', held],
    ['a payment that succeeded', 'payments', succeeded],
    ['a failed payment with a reason', 'payments', { status: 'failed', failure_code: 'expired' }],
    ['a failed payment without a reason', 'payments', { status: 'failed' }],
    ['a new key', 'idempotency_keys', {}],
    ['a key of 255 characters', 'idempotency_keys', { key: 'k'.repeat(255) }],
    ['a leased key', 'idempotency_keys', leased],
    ['a leased key in doubt', 'idempotency_keys', { ...leased, in_doubt: true }],
    ['a completed key', 'idempotency_keys', completed],
    ['a completed key of a decline', 'idempotency_keys', { ...completed, response_status: 402 }],
    ['an unknown key', 'idempotency_keys', { status: 'unknown', in_doubt: true }],
    ['a key that failed', 'idempotency_keys', { status: 'failed_retryable' }],
    ['a phase without a call', 'phase_runs', { reached: 'finished' }],
    ['a phase with a call', 'phase_runs', called],
  ]

  test.each(legal)('%s', async (_, table, fields) => {
    await expect(insert(table, fields)).resolves.toBeUndefined()
  })
})

describe('a check refuses', () => {
  const illegal: [string, string, Table, Row][] = [
    ['payments_status', 'a status of no payment', 'payments', { status: 'paid' }],
    ['payments_capture_method', 'a capture of no kind', 'payments', { capture_method: 'later' }],
    ['payments_amount', 'an amount of zero', 'payments', { amount_minor: 0 }],
    ['payments_amount', 'nine digits', 'payments', { amount_minor: 100_000_000 }],
    [
      'payments_amounts_nest',
      'more captured than authorized',
      'payments',
      { ...succeeded, amount_captured_minor: 2000 },
    ],
    [
      'payments_amounts_nest',
      'more refunded than captured',
      'payments',
      { ...succeeded, amount_captured_minor: 1000, amount_refunded_minor: 1001 },
    ],
    ['payments_amounts_nest', 'a negative refund', 'payments', { amount_refunded_minor: -1 }],
    ['payments_failure', 'a decline without a reason', 'payments', { status: 'declined' }],
    [
      'payments_failure',
      'a success with a reason to fail',
      'payments',
      { ...succeeded, failure_code: 'card_declined' },
    ],
    [
      'payments_provider_payment',
      'money held by nobody',
      'payments',
      { ...held, provider_payment_id: null },
    ],
    [
      'payments_provider_payment',
      'money taken by nobody',
      'payments',
      { ...succeeded, provider_payment_id: null },
    ],
    [
      'payments_succeeded',
      'a success that took nothing',
      'payments',
      { ...succeeded, amount_captured_minor: 0 },
    ],
    [
      'idempotency_keys_status',
      'a status of no operation',
      'idempotency_keys',
      { status: 'canceled' },
    ],
    ['idempotency_keys_key', 'an empty key', 'idempotency_keys', { key: '' }],
    [
      'idempotency_keys_key',
      'a key of 256 characters',
      'idempotency_keys',
      { key: 'k'.repeat(256) },
    ],
    [
      'idempotency_keys_lease',
      'work without a lease',
      'idempotency_keys',
      { status: 'processing' },
    ],
    [
      'idempotency_keys_lease',
      'a lease without work',
      'idempotency_keys',
      { lease_expires_at: INSTANT },
    ],
    [
      'idempotency_keys_lease',
      'a lease of what is completed',
      'idempotency_keys',
      { ...completed, lease_expires_at: INSTANT },
    ],
    ...[
      'recovery_point',
      'finished_at',
      'response_status',
      'response_headers',
      'response_body',
    ].map((column): [string, string, Table, Row] => [
      'idempotency_keys_finished',
      `a completed key without ${column}`,
      'idempotency_keys',
      { ...completed, [column]: column === 'recovery_point' ? 'started' : null },
    ]),
    [
      'idempotency_keys_finished',
      'a response of what is not completed',
      'idempotency_keys',
      { response_status: 201, response_headers: '{}', response_body: '{}' },
    ],
    [
      'idempotency_keys_response',
      'a stored 500',
      'idempotency_keys',
      { ...completed, response_status: 500 },
    ],
    [
      'idempotency_keys_response',
      'a stored 503',
      'idempotency_keys',
      { ...completed, response_status: 503 },
    ],
    [
      'idempotency_keys_doubt',
      'proved not to have run, and in doubt',
      'idempotency_keys',
      { status: 'failed_retryable', in_doubt: true },
    ],
    [
      'idempotency_keys_doubt',
      'unknown without a doubt',
      'idempotency_keys',
      { status: 'unknown', in_doubt: false },
    ],
    ['phase_runs_outcome', 'an outcome of no call', 'phase_runs', { ...called, outcome: 'failed' }],
    ['phase_runs_call', 'an outcome without a call', 'phase_runs', { outcome: 'done' }],
    ['phase_runs_call', 'a call without an outcome', 'phase_runs', { ...called, outcome: null }],
    ['phase_runs_call', 'a call without its answer', 'phase_runs', { ...called, answered: null }],
  ]

  test.each(illegal)('%s: %s', async (constraint, _, table, fields) => {
    await expect(insert(table, fields)).rejects.toMatchObject({
      code: '23514',
      constraint_name: constraint,
    })
  })

  test('what each check of the schema forbids, without one left out', async () => {
    const checks = await store.sql<{ conname: string }[]>`
      select conname from pg_constraint
      where contype = 'c' and connamespace = 'public'::regnamespace
    `

    const tested = new Set(illegal.map(([constraint]) => constraint))
    expect(checks.map((check) => check.conname).toSorted()).toEqual([...tested].toSorted())
  })
})

describe('a unique constraint refuses', () => {
  test.each<[string, Table, Row]>([
    ['payments_by_provider_payment', 'payments', { ...held, provider_payment_id: 'pi_twice' }],
    ['idempotency_keys_one_per_key', 'idempotency_keys', { key: 'twice' }],
    [
      'phase_runs_reached_once',
      'phase_runs',
      { operation_id: '00000000-0000-7000-8000-000000000001', reached: 'authorized' },
    ],
    ['api_keys_secret_once', 'api_keys', { secret_hash: Buffer.alloc(32) }],
  ])('%s: a second row', async (constraint, table, fields) => {
    await insert(table, fields)

    await expect(insert(table, fields)).rejects.toMatchObject({
      code: '23505',
      constraint_name: constraint,
    })
  })

  test('no two tries of a phase that reached nothing', async () => {
    const fields = { operation_id: randomUUID(), reached: null }
    await insert('phase_runs', fields)

    await expect(insert('phase_runs', fields)).resolves.toBeUndefined()
  })
})

describe('a row of one tenant', () => {
  test.each<[string, Table]>([
    ['idempotency_keys_payment', 'idempotency_keys'],
    ['phase_runs_payment', 'phase_runs'],
  ])('does not point at the payment of another: %s', async (constraint, table) => {
    const stranger = await makeTenant(store)

    await expect(insert(table, { tenant_id: stranger })).rejects.toMatchObject({
      code: '23503',
      constraint_name: constraint,
    })
  })

  test.each<Table>(['payments', 'api_keys'])('exists only with its tenant: %s', async (table) => {
    await expect(insert(table, { tenant_id: randomUUID() })).rejects.toMatchObject({
      code: '23503',
    })
  })

  test('may have the id of a row of another tenant', async () => {
    const tenant_id = await makeTenant(store)

    await expect(insert('payments', { tenant_id, id: paymentId })).resolves.toBeUndefined()
  })

  test('has its tenant in every foreign key and primary key of its table', async () => {
    const keys = await store.sql<{ conname: string; columns: string[] }[]>`
      select conname, array(
        select attname::text from unnest(conkey) with ordinality as key (attnum, position)
        join pg_attribute on attrelid = conrelid and pg_attribute.attnum = key.attnum
        order by position
      ) as columns
      from pg_constraint
      where contype in ('p', 'f') and connamespace = 'public'::regnamespace
        and conrelid <> 'tenants'::regclass
    `

    expect(keys.length).toBeGreaterThan(0)
    expect(keys.filter(({ columns }) => columns[0] !== 'tenant_id')).toEqual([])
  })
})
