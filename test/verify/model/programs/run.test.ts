import { expect, test } from '@jest/globals'
import type { Sql, Transaction } from '../../../../src/db/connection/client.ts'
import { inTenant, together } from '../../../../src/db/connection/transaction.ts'
import { TENANT_ID } from '../../../../verify/model/programs/ids.ts'
import { Run } from '../../../../verify/model/programs/run.ts'

const DONE = { kind: 'rows', rows: [], count: 0 } as const
const FAILED = { kind: 'error', code: '23505', message: '', constraint: 'one' } as const
const LOST = { kind: 'connection_lost' } as const

async function start(program: (sql: Sql) => Promise<unknown>): Promise<Run> {
  const run = new Run(({ sql }) => program(sql))
  await run.runUntilPending()
  return run
}

const send = async (tx: Transaction, table: string) => await tx`select id from ${tx(table)}`

/** The table of the pending statement, or the end of its transaction. */
function pendingIn({ pending }: Run): string | undefined {
  return pending?.kind === 'statement' ? /"(\w+)"/.exec(pending.text)?.[1] : pending?.kind
}

const sendThree = (sql: Sql) =>
  inTenant(sql, TENANT_ID, (tx) =>
    together([
      send(tx, 'one').then(() => send(tx, 'behind_one')),
      send(tx, 'two'),
      send(tx, 'three'),
    ]),
  )

test('answers statements that leave together in their order, before those that follow', async () => {
  const run = await start(sendThree)
  const order: unknown[] = []
  while (run.pending?.kind === 'statement') {
    order.push(pendingIn(run))
    await run.answer(DONE)
  }

  expect(order).toEqual(['one', 'two', 'three', 'behind_one'])
  expect(pendingIn(run)).toBe('commit')
  await run.answer({ kind: 'done' })
  expect(run.ending).toEqual({ error: undefined })
})

test('rolls back when a statement fails, which fails those behind it', async () => {
  const run = await start(sendThree)
  await run.answer(DONE)
  await run.answer(FAILED)

  expect(pendingIn(run)).toBe('rollback')
  await run.answer({ kind: 'done' })
  expect(run.ending?.error).toMatchObject({ code: '23505', constraint_name: 'one' })
  expect(run.unexpectedErrors).toEqual([])
})

test('ends a transaction whose connection is lost without a request', async () => {
  const run = await start(sendThree)
  await run.answer(DONE)
  await run.answer(LOST)

  expect(run.ending?.error).toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(run.unexpectedErrors).toEqual([])
})

test('fails a transaction whose commit is refused', async () => {
  const run = await start((sql) => inTenant(sql, TENANT_ID, (tx) => send(tx, 'one')))
  await run.answer(DONE)
  await run.answer(FAILED)

  expect(run.ending?.error).toMatchObject({ code: '23505' })
})

test('fails a transaction that goes on after one of its errors', async () => {
  const run = await start((sql) =>
    inTenant(sql, TENANT_ID, (tx) => send(tx, 'one').catch(() => {})),
  )
  await run.answer(FAILED)
  await run.answer({ kind: 'done' })

  expect(run.ending?.error?.message).toContain('went on after one of its errors')
})

test('reports a statement after the end of its transaction', async () => {
  const run = await start(async (sql) => {
    const used = await inTenant(sql, TENANT_ID, async (tx) => ({ tx }))
    await send(used.tx, 'one')
  })
  expect(pendingIn(run)).toBe('commit')
  await run.answer({ kind: 'done' })

  expect(run.unexpectedErrors).toEqual([
    'a transaction: a statement before or after its transaction',
  ])
})
