// Reserves idempotency keys and payments for tests of the store with the real statement, and reads
// rows back.
import { randomBytes, randomUUID, randomUUIDv7 } from 'node:crypto'
import { openStore, type Sql, type Store } from '../../src/db/connection/client.ts'
import type { Intent } from '../../src/db/idempotency/intent.ts'
import { reserveIntent } from '../../src/db/idempotency/intents.ts'
import type { IdempotencyKey } from '../../src/db/idempotency/idempotency-keys.ts'
import { giveBackIfOwner, type Claim } from '../../src/db/operations/leases.ts'
import { detailsOfPayment, insertPayments } from '../../src/db/payments/payments.ts'
import { finishIfOwner } from '../support/record-phase.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import type { OperationRef, StoredResponse } from '../../src/domain/operations/operation.ts'
import type { PaymentRequest } from '../../src/domain/payments/payment.ts'
import { claimIfUnowned } from '../support/claim.ts'

export const LEASE_MS = 60_000
export const RETENTION_SECONDS = 86_400

export function openTestStore(url: string, poolSize = 4): Store {
  return openStore({ url, applicationName: 'test', poolSize, timeoutMs: 60_000 })
}

export function makeTenant(store: Store): Promise<string> {
  return createTenant(store, { name: 'test', apiKey: `sk_test_${randomBytes(16).toString('hex')}` })
}

export const request: PaymentRequest = {
  amountMinor: 1999,
  currency: 'usd',
  captureMethod: 'automatic',
  paymentMethod: 'pm_card_visa',
  customer: null,
  description: null,
  reference: null,
  metadata: {},
}

export function reservationOf(tenantId: string, fields: Partial<Intent> = {}): Intent {
  return {
    tenantId,
    id: randomUUIDv7(),
    key: randomUUID(),
    fingerprint: randomBytes(32),
    operation: 'payment.create',
    paymentId: randomUUIDv7(),
    refundId: null,
    parameters: {},
    retentionSeconds: RETENTION_SECONDS,
    ...fields,
  }
}

export function reserve(sql: Sql, reservation: Intent): Promise<IdempotencyKey> {
  const details = detailsOfPayment(request, 'stripe')
  return reserveIntent(sql, { details, ...reservation }, insertPayments)
}

/** A pending operation. */
export async function pendingOperation(store: Store): Promise<OperationRef> {
  const tenantId = await makeTenant(store)
  const { id } = await reserve(store.sql, reservationOf(tenantId))
  return { tenantId, id }
}

/** A claimed operation. */
export async function claimedOperation(store: Store): Promise<Claim> {
  return await claimOrThrow(store.sql, await pendingOperation(store))
}

export async function claimOrThrow(sql: Sql, ref: OperationRef): Promise<Claim> {
  const claim = await claimIfUnowned(sql, ref, LEASE_MS)
  if (claim === undefined) throw new Error(`operation ${ref.id} could not be claimed`)
  return claim
}

export const response: StoredResponse = {
  status: 201,
  headers: { 'content-type': 'application/json' },
  body: '{"a":1}',
}

export function finish({ sql }: Store, claim: Claim): Promise<boolean> {
  return finishIfOwner(sql, claim, response, RETENTION_SECONDS)
}

type Return = Parameters<typeof giveBackIfOwner>[2]

/** The three statuses in which an operation can be given back. */
export const pending: Return = {
  status: 'pending',
  inDoubt: true,
  reason: 'timeout',
  checkDelaysSeconds: [5],
}
export const failed: Return = {
  status: 'failed_retryable',
  inDoubt: false,
  reason: 'refused',
  checkDelaysSeconds: [5],
}
export const unknown: Return = {
  status: 'unknown',
  inDoubt: true,
  reason: 'timeout',
  checkDelaysSeconds: [5],
}

export function giveBack({ sql }: Store, claim: Claim, to: Return): Promise<boolean> {
  return sql.begin((tx) => giveBackIfOwner(tx, claim, to))
}

/** Lets the lease expire, as if its owner went silent long ago. */
export async function letLeaseRunOut(sql: Sql, { tenantId, id }: OperationRef): Promise<void> {
  await sql`
    update idempotency_keys set lease_expires_at = now() - interval '1 second'
    where tenant_id = ${tenantId} and id = ${id}
  `
}

/** All columns of the row. */
export async function readRow(
  sql: Sql,
  { tenantId, id }: OperationRef,
): Promise<Record<string, unknown>> {
  const [row] = await sql<{ row: Record<string, unknown> }[]>`
    select to_jsonb(idempotency_keys) as row from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id}
  `
  if (row === undefined) throw new Error(`there is no operation ${id}`)
  return row.row
}

/** The number of a tenant's rows in a table. */
export async function countRows(sql: Sql, table: string, tenantId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from ${sql(table)} where tenant_id = ${tenantId}
  `
  return row?.count ?? 0
}

/** The number of jobs of an operation. */
export async function countJobs(sql: Sql, operationId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from atomic_jobs.job where data ->> 'operationId' = ${operationId}
  `
  return row?.count ?? 0
}

/** How far in the future an instant is by the database's clock, in seconds. */
export async function secondsAhead(sql: Sql, instant: unknown): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from ${String(instant)}::timestamptz - now())::float8 as seconds
  `
  return row?.seconds ?? Number.NaN
}
