import { describe, expect, test } from '@jest/globals'
import {
  isStoreUnavailable,
  storeErrorKind,
  StoreTimeoutError,
} from '../../../src/db/connection/store-errors.ts'
import { database, store } from '../../support/own-store.ts'
import { openTestStore } from '../reservations.ts'

function errorWith(code: unknown, cause?: Error): Error {
  return Object.assign(new Error('failed', { cause }), { code })
}

describe('an error with a code', () => {
  test.each([
    ['ECONNREFUSED', 'nothing listens', 'unreachable'],
    ['ECONNRESET', 'the connection was reset', 'unreachable'],
    ['EPIPE', 'the connection was closed while writing', 'unreachable'],
    ['ETIMEDOUT', 'the network timed out', 'unreachable'],
    ['ENOTFOUND', 'the host has no address', 'unreachable'],
    ['EAI_AGAIN', 'name resolution failed', 'unreachable'],
    ['EHOSTUNREACH', 'no route to the host', 'unreachable'],
    ['ENETUNREACH', 'no route to its network', 'unreachable'],
    ['ENOENT', 'the socket is missing', 'unreachable'],
    ['CONNECT_TIMEOUT', 'connecting timed out', 'unreachable'],
    ['TLS_FAILED', 'its certificate is refused', 'unreachable'],
    ['NO_PRIMARY', 'no host is the primary', 'unreachable'],
    ['CONNECTION_CLOSED', 'the driver lost its connection', 'unreachable'],
    ['CONNECTION_DESTROYED', 'the driver destroyed the connection', 'unreachable'],
    ['CONNECTION_ENDED', 'the driver is stopping', 'unreachable'],
    ['08006', 'connection failure', 'unreachable'],
    ['25006', 'a standby', 'failed'],
    ['40001', 'serialization failure', 'conflict'],
    ['40P01', 'deadlock', 'conflict'],
    ['53100', 'disk full', 'exhausted'],
    ['53300', 'too many connections', 'exhausted'],
    ['55P03', 'lock not available', 'conflict'],
    ['57014', 'statement timeout', 'timeout'],
    ['57P01', 'shutdown', 'unreachable'],
    ['25P03', 'in a transaction that was idle for too long', 'timeout'],
    ['57P03', 'starting up', 'unreachable'],
    ['58030', 'I/O error', 'failed'],
  ])('%s, %s: is transient, of the kind %s', (code, _, kind) => {
    expect(isStoreUnavailable(errorWith(code))).toBe(true)
    expect(storeErrorKind(errorWith(code))).toBe(kind)
  })

  test.each([
    ['23505', 'unique violation'],
    ['23514', 'check violation'],
    ['23502', 'not null violation'],
    ['23503', 'foreign key violation'],
    ['22P02', 'malformed value'],
    ['42P01', 'undefined table'],
    ['42501', 'insufficient privilege'],
    ['28P01', 'wrong password'],
    ['3D000', 'no such database'],
    ['25P02', 'in a failed transaction'],
    ['55006', 'object in use'],
    ['ERR_INVALID_ARG_TYPE', 'a bug in the call'],
  ])('%s, %s: is a bug', (code) => {
    expect(isStoreUnavailable(errorWith(code))).toBe(false)
  })
})

test.each([
  ['a text', 'ECONNREFUSED'],
  ['nothing', undefined],
  ['null', null],
  ['an error without a code', new Error('ECONNREFUSED')],
  ['an error whose code is not a string', errorWith(408)],
])('does not treat %s as an error of the store', (_, error) => {
  expect(isStoreUnavailable(error)).toBe(false)
})

test.each([
  ['as the cause of another', new Error('Failed query', { cause: errorWith('57P01') })],
  ['two causes down', new Error('a', { cause: new Error('b', { cause: errorWith('08006') }) })],
  [
    'in an AggregateError, as for a host with several addresses',
    Object.assign(new AggregateError([errorWith('ECONNREFUSED')]), { code: 'ECONNREFUSED' }),
  ],
  ['as our own time limit', new StoreTimeoutError('late')],
])('recognizes a transient error %s', (_, error) => {
  expect(isStoreUnavailable(error)).toBe(true)
})

describe('a real error', () => {
  const reasonOf = (statement: Promise<unknown>) =>
    statement.then(
      () => 'no error',
      (error: unknown) => error,
    )

  test('of a slow statement is transient', async () => {
    const late = store.sql.begin(async (tx) => {
      await tx`set local statement_timeout = 20`
      await tx`select pg_sleep(60)`
    })

    expect(isStoreUnavailable(await reasonOf(late))).toBe(true)
  })

  test('of a connection that the server ended is transient', async () => {
    const doomed = openTestStore(database.url)
    const ended = doomed.sql`select pg_terminate_backend(pg_backend_pid())`

    expect(isStoreUnavailable(await reasonOf(ended))).toBe(true)

    // By default the driver waits for connections that it has lost.
    await doomed.sql.end({ timeout: 0 })
  })

  test('of a wrong statement is not transient', async () => {
    const wrong = store.sql`select * from nothing_of_that_name`

    expect(isStoreUnavailable(await reasonOf(wrong))).toBe(false)
  })

  test('of a closed pool is transient', async () => {
    const closed = openTestStore(database.url)
    await closed.close()

    expect(isStoreUnavailable(await reasonOf(closed.sql`select 1`))).toBe(true)
  })
})
