import { expect, test } from '@jest/globals'
import pino from 'pino'
import { followAnswerEpoch, readAnswerEpoch } from '../answer-epoch.ts'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { dropResponses } from '../../../src/db/idempotency/dropped-responses.ts'
import { openTestStore } from '../../../test/db/reservations.ts'
import { until } from '../../../test/support/until.ts'
import { database, store } from '../../../test/support/own-store.ts'

const log = pino({ level: 'silent' })

/** A listener that a test controls. */
function controlled(sql = store.sql) {
  let notify = () => {}
  let turn: (isListening: boolean) => void = () => {}
  const epoch = followAnswerEpoch(
    {
      sql,
      listen(_channel, onNotify, onListening) {
        notify = () => onNotify('')
        turn = onListening
      },
    },
    log,
  )
  return { epoch, notify: () => notify(), turn: (isListening: boolean) => turn(isListening) }
}

const advance = () => inTransaction(store.sql, (tx) => dropResponses(tx, [], 'ietf'))

test('every process learns a new epoch', async () => {
  const others = [openTestStore(database.url), openTestStore(database.url)]
  const epochs = others.map((other) => followAnswerEpoch(other, log))
  const before = await readAnswerEpoch(store.sql)
  for (const epoch of epochs) await until(() => epoch.current() === before)

  await advance()

  const after = await readAnswerEpoch(store.sql)
  expect(after).not.toBe(before)
  for (const epoch of epochs) await until(() => epoch.current() === after)
  await Promise.all(others.map((other) => other.close()))
})

test('an epoch that is rolled back is none', async () => {
  const before = await readAnswerEpoch(store.sql)

  await inTransaction(store.sql, async (tx) => {
    await dropResponses(tx, [], 'ietf')
    throw new Error('rolled back')
  }).catch(() => {})

  expect(await readAnswerEpoch(store.sql)).toBe(before)
})

test('is not known until this process listens, nor after it stops', async () => {
  const { epoch, turn } = controlled()
  expect(epoch.current()).toBeUndefined()

  turn(true)
  await until(() => epoch.current())
  turn(false)

  expect(epoch.current()).toBeUndefined()
})

test('is not known between a notification and the read that follows', async () => {
  const { epoch, turn, notify } = controlled()
  turn(true)
  await until(() => epoch.current())

  notify()

  expect(epoch.current()).toBeUndefined()
  await until(() => epoch.current())
})

test('a read that began before a notification does not count', async () => {
  const { epoch, turn, notify } = controlled()
  turn(true)
  turn(true)
  await advance()
  notify()
  const known = await until(() => epoch.current())

  expect(known).toBe(await readAnswerEpoch(store.sql))
})

test('a read that ends after this process stopped to listen does not count', async () => {
  const { epoch, turn } = controlled()
  turn(true)
  turn(false)
  await readAnswerEpoch(store.sql)
  await readAnswerEpoch(store.sql)

  expect(epoch.current()).toBeUndefined()
})

test('a read that fails is tried again', async () => {
  const closed = openTestStore(database.url)
  await closed.close()
  let sql = closed.sql
  const failing = new Proxy(store.sql, {
    apply: (_target, self, values) => Reflect.apply(sql, self, values),
  })
  const { epoch, turn } = controlled(failing)

  turn(true)
  await closed.sql`select 1`.catch(() => {})
  expect(epoch.current()).toBeUndefined()
  sql = store.sql

  await until(() => epoch.current())
})
