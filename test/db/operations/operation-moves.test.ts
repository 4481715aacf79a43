// Tests the table of status changes of operations: each statement that changes a status runs on an
// operation in each status, and exactly the changes of the domain's table happen.
import { expect, test } from '@jest/globals'
import {
  completeIfOvertaken,
  deleteExpiredKeys,
  timeOutIfAbandoned,
} from '../../../src/recovery/reaper.ts'
import { markUnknownIfExpired, requeueIfExpired } from '../../../src/recovery/sweeper.ts'
import { takeDueChecks } from '../../../src/recovery/due-checks.ts'
import { requestCheckIfUnknown } from '../../../src/db/operations/requested-checks.ts'
import { reopenIfFailed } from '../../../src/db/idempotency/idempotency-keys.ts'
import { handOverIfOwner, type Claim } from '../../../src/db/operations/leases.ts'
import { readOperation } from '../../../src/db/operations/operation-rows.ts'
import { doOnce } from '../../../src/http/keyed/keyed-locally.ts'
import { inService, inTransaction } from '../../../src/db/connection/transaction.ts'
import {
  operationMoves,
  operationStatuses,
  type OperationRef,
} from '../../../src/domain/operations/operation.ts'
import { problemResponse } from '../../../src/domain/operations/stored-response.ts'
import { cancelOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { operationNamed } from '../../../src/engine/engine.ts'
import { operations } from '../../../src/operations/index.ts'
import { markAbsent, claimUnknown } from '../../../src/recovery/outcome-resolver.ts'
import { claimIfUnowned } from '../../support/claim.ts'
import {
  claimedOperation,
  failed,
  finish,
  giveBack,
  LEASE_MS,
  letLeaseRunOut,
  makeTenant,
  pending,
  pendingOperation,
  readRow,
  response,
  RETENTION_SECONDS,
  unknown,
} from '../reservations.ts'
import { store } from '../../support/own-store.ts'

type Status = (typeof operationStatuses)[number]

/**
 * An operation in each status, brought there by the real statements, and the fence of its last
 * owner.
 */
const inStatus: Record<Status, () => Promise<OperationRef>> = {
  pending: () => pendingOperation(store),
  processing: () => claimedOperation(store),
  completed: async () => {
    const claim = await claimedOperation(store)
    await finish(store, claim)
    return claim
  },
  failed_retryable: () => givenBack(failed),
  unknown: () => givenBack(unknown),
}

async function givenBack(to: Parameters<typeof giveBack>[2]): Promise<OperationRef> {
  const claim = await claimedOperation(store)
  // As the engine does: the resource gets the matching status.
  await inTransaction(store.sql, (tx) => {
    const marking = { tx, key: claim.key }
    const operation = operationNamed({ operations }, claim.operation)
    const subject = operation.subject(claim)
    return to.status === 'unknown'
      ? operation.markUnknown(marking, subject)
      : operation.markGivenUp(marking, subject)
  })
  await giveBack(store, claim, to)
  return claim
}

/** The operation with its current lease. */
const asOwner = async (ref: OperationRef): Promise<Claim> => {
  const row = await inTransaction(store.sql, (tx) => readOperation(tx, ref))
  if (row === undefined) throw new Error('there is no such operation')
  return row
}

const expire = (ref: OperationRef) => store.sql`
  update idempotency_keys set expires_at = now() - interval '1 hour' where id = ${ref.id}
`

const retention = { KEY_RETENTION_SECONDS: RETENTION_SECONDS }
const engineParts = { operations, settings: { LEASE_MS, ...retention } }
const all = { limit: 100, retention }

/** Each statement as its program runs it, under matching conditions. */
const movers: Record<string, (ref: OperationRef) => Promise<unknown>> = {
  'a worker, with a lease': (ref) => claimIfUnowned(store.sql, ref, LEASE_MS),
  'another worker, after the lease expired': async (ref) => {
    if ((await statusOf(ref)) !== 'processing') return
    await letLeaseRunOut(store.sql, ref)
    await claimIfUnowned(store.sql, ref, LEASE_MS)
  },
  'its worker, with the response': async (ref) => finish(store, await asOwner(ref)),
  'its worker, to retry it later': async (ref) => giveBack(store, await asOwner(ref), pending),
  'its worker, when it shuts down': async (ref) =>
    inTransaction(store.sql, async (tx) => handOverIfOwner(tx, await asOwner(ref), false)),
  'its worker, out of tries, when nothing happened': async (ref) =>
    giveBack(store, await asOwner(ref), failed),
  'its worker, out of tries or too late, when it may have happened': async (ref) =>
    giveBack(store, await asOwner(ref), unknown),
  'the sweeper, when the lease expired and the phase may be repeated': async (ref) => {
    if ((await statusOf(ref)) === 'processing') await letLeaseRunOut(store.sql, ref)
    await inService(store.sql, (tx) => requeueIfExpired(tx, [ref]))
  },
  'the sweeper, when the lease expired and the phase may not be repeated': async (ref) => {
    if ((await statusOf(ref)) === 'processing') await letLeaseRunOut(store.sql, ref)
    await inTransaction(store.sql, (tx) => markUnknownIfExpired(tx, ref, [5]))
  },
  'the client or an operator, by a retry': (ref) =>
    inTransaction(store.sql, (tx) => reopenIfFailed(tx, ref)),
  'its client, by a cancellation, when nothing was executed': (ref) =>
    cancelOperation(
      { store, operations, settings: { IDEMPOTENCY_FLAVOR: 'ietf', KEY_RETENTION_SECONDS: 60 } },
      ref,
    ),
  'the reaper, with a timeout, when nothing was executed': async (ref) => {
    await expire(ref)
    await timeOutIfAbandoned(store.sql, problemResponse('ietf', 'operation-timed-out'), all)
  },
  'the reaper, when another request has ended the payment': async (ref) => {
    await expire(ref)
    await store.sql`
      update payments set status = 'canceled', previous_status = 'processing'
      where id = (select payment_id from idempotency_keys where id = ${ref.id})
    `
    await store.sql`
      update idempotency_keys set recovery_point = 'authorized'
      where id = ${ref.id} and status <> 'completed'
    `
    await completeIfOvertaken(store.sql, problemResponse('ietf', 'invalid-state'), all)
  },
  'the outcome resolver, when it finds the outcome': async (ref) =>
    inTransaction(store.sql, async (tx) => claimUnknown(tx, engineParts, await asOwner(ref))),
  'the outcome resolver, when it finds nothing and a repetition is safe, or operators state it':
    async (ref) =>
      inTransaction(store.sql, async (tx) =>
        markAbsent(tx, engineParts, await asOwner(ref), { reason: 'not there', keepsDoubt: false }),
      ),
  'the reaper, after the retention period': async (ref) => {
    await expire(ref)
    await deleteExpiredKeys(store.sql, 100)
  },
}

async function statusOf({ tenantId, id }: OperationRef): Promise<string> {
  const [row] = await store.sql<{ status: string }[]>`
    select status from idempotency_keys where tenant_id = ${tenantId} and id = ${id}
  `
  return row?.status ?? 'gone'
}

/** The columns that an owner can tell apart: a claim of the same status is a change too. */
const epochOf = async (ref: OperationRef) =>
  (await statusOf(ref)) === 'gone' ? null : (await readRow(store.sql, ref))['lease_epoch']

const beginnings = ['the first request', 'a local operation']

test.each(Object.keys(movers))('%s', async (by) => {
  const moved = []
  for (const from of operationStatuses) {
    const ref = await inStatus[from]()
    expect(await statusOf(ref)).toBe(from)
    const epoch = await epochOf(ref)
    // A statement that does not apply may throw.
    await movers[by]?.(ref).catch((error: Error) => expect(error.message).toMatch(/is not|is gone/))
    const to = await statusOf(ref)
    if (to !== from || (await epochOf(ref)) !== epoch) moved.push({ from, to, by })
  }
  expect(moved).toEqual(operationMoves.filter((move) => move.by === by))
})

test('covers the intent and a local operation', async () => {
  const tenantId = await makeTenant(store)
  const local = {
    tenantId,
    id: tenantId,
    key: 'local',
    fingerprint: Buffer.alloc(32),
    operation: 'webhook_endpoint.create',
    retentionSeconds: RETENTION_SECONDS,
    expiredKeys: 'new',
  } as const
  await doOnce(store.sql, local, () => Promise.resolve(response))

  expect([
    { from: 'new', to: await statusOf(await pendingOperation(store)), by: 'the first request' },
    { from: 'new', to: await statusOf(local), by: 'a local operation' },
  ]).toEqual(operationMoves.filter(({ from }) => from === 'new'))
})

test('covers every change of the table', () => {
  expect([...beginnings, ...Object.keys(movers)].toSorted()).toEqual(
    [...new Set(operationMoves.map(({ by }) => by))].toSorted(),
  )
})

test('changes no status when a check is requested or claimed', async () => {
  for (const status of operationStatuses) {
    const ref = await inStatus[status]()
    await requestCheckIfUnknown(store.sql, ref)
    await takeDueChecks(store.sql, [5], 100)
    expect(await statusOf(ref)).toBe(status)
  }
})
