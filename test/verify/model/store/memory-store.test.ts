import { beforeAll, describe, expect, test } from '@jest/globals'
import { seededRandom } from '../../../../verify/simulate/random.ts'
import type { Sql, Transaction } from '../../../../src/db/connection/client.ts'
import { inService } from '../../../../src/db/connection/transaction.ts'
import { deleteKeys } from '../../../../src/db/idempotency/reserve-keys.ts'
import {
  claimEachIfUnowned,
  dropFallbackIfOwner,
  renewIfOwner,
} from '../../../../src/db/operations/leases.ts'
import type { OperationRef } from '../../../../src/domain/operations/operation.ts'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { drawFixture } from '../../../../verify/model/conformance/fixture.ts'
import { joining } from '../../../../verify/model/conformance/functions.ts'
import { MemorySessions } from '../../../../verify/model/conformance/memory-sessions.ts'
import {
  nameOfKey,
  operationIdOf,
  paymentIdOf,
  TENANT_ID,
} from '../../../../verify/model/programs/ids.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import type { StatementRequest } from '../../../../verify/model/programs/requests.ts'
import { Run } from '../../../../verify/model/programs/run.ts'
import { NO_WORK, type Database, type Row } from '../../../../verify/model/store/rows.ts'
import type { Schema } from '../../../../verify/model/store/schema.ts'
import { executeStatement } from '../../../../verify/model/store/memory-store.ts'
import { UnknownSqlError } from '../../../../verify/model/sql/syntax.ts'

const LEASE_MS = 1_000
const ref: OperationRef = { tenantId: TENANT_ID, id: operationIdOf(0, 1) }

let schema: Schema

beforeAll(async () => {
  ;({ schema } = await loadProduct(REPOSITORY))
})

/** A store in which the operation of the first key has these values. */
function storeWith(changes: Row): Database {
  const database = drawFixture(schema, seededRandom(1))
  const [first, ...others] = database['idempotency_keys'] ?? []
  return { ...database, idempotency_keys: [{ ...first, ...changes }, ...others] }
}

const PENDING = { status: 'pending', recovery_point: 'started', ...nothing() }

function nothing(): Row {
  const names = ['lease_expires_at', 'unknown_at', 'next_check_at', 'finished_at']
  const answer = ['response_status', 'response_headers', 'response_body']
  return Object.fromEntries([...names, ...answer].map((name) => [name, null]))
}

/** The first statement that a function sends. */
async function firstStatement(
  send: (sql: Sql & Transaction) => Promise<unknown>,
): Promise<StatementRequest> {
  const run = new Run(({ sql }) => inService(sql, (tx) => send(joining(tx))))
  await run.runUntilPending()
  const { pending } = run
  run.abandon()
  if (pending?.kind !== 'statement') throw new Error('no statement was sent')
  return pending
}

const claim = (): Promise<StatementRequest> =>
  firstStatement((sql) => claimEachIfUnowned(sql, [ref], LEASE_MS))

describe('a statement that waited for a lock', () => {
  test('keeps the lock until its transaction ends, even if it changed nothing', async () => {
    const sessions = new MemorySessions(schema, storeWith(PENDING), 3)
    sessions.begin(0)
    sessions.begin(1)
    sessions.execute(0, await claim())
    sessions.execute(1, await claim())
    sessions.end(0, 'commit')
    sessions.resume(1)

    const hold = { ...ref, recoveryPoint: 'started', leaseEpoch: 2 }
    const renew = await firstStatement((sql) => renewIfOwner(sql, hold, LEASE_MS))
    expect(sessions.execute(2, renew)).toBeUndefined()
    sessions.end(1, 'commit')

    expect(sessions.resume(2)).toMatchObject({ count: 1 })
  })

  test('skips a row that was deleted meanwhile', async () => {
    const forget = () => firstStatement((sql) => deleteKeys(sql, TENANT_ID, [ref]))
    const sessions = new MemorySessions(schema, storeWith(PENDING), 2)
    sessions.begin(0)

    expect(sessions.execute(0, await forget())).toMatchObject({ count: 1 })
    expect(sessions.execute(1, await forget())).toBeUndefined()
    sessions.end(0, 'commit')

    expect(sessions.resume(1)).toMatchObject({ count: 0 })
  })
})

test('an insert waits for a row that was changed by a statement that waits for another row', async () => {
  const second = { ...ref, id: operationIdOf(1, 1) }
  const sessions = new MemorySessions(schema, storeOfTwo(), 3)
  const claimOf = (...refs: OperationRef[]) =>
    firstStatement((sql) => claimEachIfUnowned(sql, refs, LEASE_MS))
  sessions.begin(0)
  sessions.execute(0, await claimOf(second))
  const text =
    'insert into idempotency_keys (tenant_id, key) select $1, $2 on conflict (tenant_id, key) do nothing'
  const reserve = { kind: 'statement', transaction: 0, text } as const
  const parameters = [TENANT_ID, nameOfKey(0)]

  expect(sessions.execute(1, await claimOf(ref, second))).toBeUndefined()
  expect(sessions.execute(2, { ...reserve, parameters })).toBeUndefined()
  sessions.end(0, 'rollback')

  expect(sessions.resume(1)).toMatchObject({ count: 2 })
  expect(sessions.resume(2)).toMatchObject({ count: 0 })
})

describe('a transaction', () => {
  const insert =
    'insert into idempotency_keys (tenant_id, id, key, fingerprint, operation, payment_id, expires_at) select $1, $2, $3, $4, $5, $6, now() on conflict do nothing'
  const reserve = (key: number): StatementRequest => ({
    kind: 'statement',
    transaction: 0,
    text: insert,
    parameters: [
      TENANT_ID,
      operationIdOf(9, key),
      nameOfKey(9),
      '\\x00',
      'payment.create',
      paymentIdOf(9, 1),
    ],
  })
  const release: StatementRequest = {
    ...reserve(1),
    text: 'delete from idempotency_keys where key = $1',
    parameters: [nameOfKey(9)],
  }

  test('makes others wait for a key that it has inserted and deleted again', () => {
    const sessions = new MemorySessions(schema, storeWith(PENDING), 2)
    sessions.begin(0)
    sessions.execute(0, reserve(1))
    sessions.execute(0, release)

    sessions.begin(1)
    expect(sessions.execute(1, reserve(2))).toBeUndefined()
    sessions.end(0, 'commit')
    expect(sessions.resume(1)).toMatchObject({ count: 1 })
  })

  test('shares a row that it reads for share, and makes others wait that change it', () => {
    const statement = (text: string): StatementRequest => ({
      kind: 'statement',
      transaction: 0,
      text,
      parameters: [paymentIdOf(0, 1)],
    })
    const read = statement('select id from payments where id = $1 for share')
    const change = statement('update payments set updated_at = now() where id = $1')
    const sessions = new MemorySessions(schema, storeWith(PENDING), 3)
    for (const sessionId of [0, 1, 2]) sessions.begin(sessionId)

    expect(sessions.execute(0, read)).toMatchObject({ count: 1 })
    expect(sessions.execute(1, read)).toMatchObject({ count: 1 })
    expect(sessions.execute(2, change)).toBeUndefined()
    sessions.end(0, 'commit')
    expect(sessions.resume(2)).toBeUndefined()
    sessions.end(1, 'commit')
    expect(sessions.resume(2)).toMatchObject({ count: 1 })
  })
})

test('distinguishes a deadlock from a chain of waiting sessions', async () => {
  const second = { ...ref, id: operationIdOf(1, 1) }
  const sessions = new MemorySessions(schema, storeOfTwo(), 2)
  const claimSecond = await firstStatement((sql) => claimEachIfUnowned(sql, [second], LEASE_MS))
  sessions.begin(0)
  sessions.begin(1)
  sessions.execute(0, await claim())
  sessions.execute(1, claimSecond)

  sessions.execute(0, claimSecond)
  expect(sessions.isDeadlocked(0)).toBe(false)
  sessions.execute(1, await claim())

  expect(sessions.isDeadlocked(1)).toBe(true)
})

test('enforces the constraints of the schema', () => {
  const database = storeWith(PENDING)
  const view = { snapshot: database, current: database, own: NO_WORK, others: [] }
  const text = "update idempotency_keys set status = 'completed' where key = $1"

  const executed = executeStatement(schema, view, { text, parameters: [nameOfKey(0)] })

  expect(executed).toMatchObject({ kind: 'error', code: '23514' })
})

test('removes a member of a JSON object, where it is', async () => {
  const owned = { ...PENDING, status: 'processing', lease_epoch: 1, lease_expires_at: 9 }
  const parameters = { fallback: { provider: 'other' }, amount: 5 }
  const sessions = new MemorySessions(schema, storeWith({ ...owned, parameters }), 1)
  const fence = { ...ref, recoveryPoint: 'started', leaseEpoch: 1 }
  const drop = await firstStatement((sql) => dropFallbackIfOwner(sql, fence))

  expect(sessions.execute(0, drop)).toMatchObject({ count: 1 })
  const [row] = sessions.database['idempotency_keys'] ?? []
  expect(row?.['parameters']).toEqual({ amount: 5 })
  expect(sessions.execute(0, drop)).toMatchObject({ count: 0 })
})

test('rejects unsupported SQL', () => {
  const database = storeWith(PENDING)
  const view = { snapshot: database, current: database, own: NO_WORK, others: [] }
  const text = 'select id from idempotency_keys tablesample system (10)'

  expect(() => executeStatement(schema, view, { text, parameters: [] })).toThrow(UnknownSqlError)
})

/** Two operations that are still pending. */
function storeOfTwo(): Database {
  const database = storeWith(PENDING)
  const [one, , ...others] = database['idempotency_keys'] ?? []
  const second = { ...one, id: operationIdOf(1, 1), key: nameOfKey(1) } as Row
  return { ...database, idempotency_keys: [one as Row, second, ...others] }
}
