// Tests that no adapter sends anything after the lease of its caller: a worker that was frozen must not
// charge once its successor looks up what it did.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { callNamesOf, callOf, portCalls } from './calls.ts'
import type { ContractStandIn } from './fixture.ts'
import { fixtures } from './fixtures.ts'
import { freeze } from './freeze.ts'
import { identityOf } from './payments.ts'

/** Every request that arrives in this process, reads too. */
const arrived: string[] = []
const note = (message: unknown): void => {
  const { method = '', url = '' } = (message as { request: IncomingMessage }).request
  if (!url.startsWith('/_control')) arrived.push(`${method} ${url}`)
}
beforeAll(() => subscribe('http.server.request.start', note))
afterAll(() => void unsubscribe('http.server.request.start', note))

const leaseOf = (ms: number) => ({
  ...identityOf('started'),
  sendBeforeMs: performance.now() + ms,
})

describe.each(fixtures)('$name', ({ adapterFor, calls, startStandIn }) => {
  const names = callNamesOf({ adapterFor })
  let standIn: ContractStandIn
  let adapter: PaymentProvider

  beforeAll(async () => {
    standIn = await startStandIn(() => 1_800_000_000_000)
  })
  beforeEach(async () => {
    await standIn.reset()
    adapter = adapterFor(standIn.url)
  })
  afterAll(async () => standIn.close())

  const executed = async (kind: string) =>
    (await standIn.executed()).filter((entry) => entry.kind === kind)

  test('nothing is sent if the lease ends while it connects', async () => {
    const { kind, ready } = calls.authorize
    const payment = await ready(adapterFor(standIn.url), standIn)
    const made = portCalls.authorize.make(adapter, payment, leaseOf(200))
    setImmediate(freeze, 300)

    expect(await made).toMatchObject({ outcome: 'not_executed', answered: { error: 'timeout' } })
    expect(await executed(kind)).toEqual([])
  })

  test.each(names)(
    '%s: nothing is sent on a connection that is kept alive, only in time',
    async (name) => {
      const payment = await callOf(calls, name).ready(adapter, standIn)
      await adapter.readAccount()
      arrived.length = 0

      const late = await portCalls[name].make(adapter, payment, leaseOf(0))

      expect(late).toMatchObject({ outcome: 'not_executed', answered: { error: 'timeout' } })
      expect(await executed(callOf(calls, name).kind)).toEqual([])
      expect(arrived).toEqual([])
      const inTime = await portCalls[name].make(adapter, payment, leaseOf(10_000))
      expect(inTime).toEqual(expect.objectContaining({ outcome: 'done' }))
      expect(arrived).not.toEqual([])
    },
  )
})
