// Compares the rights that the adapter declares for a restricted key with what its calls and its reads
// request.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { stripeRights } from '../../../src/provider/stripe/calls/index.ts'
import { callNamesOf, callOf, portCalls } from '../contract/calls.ts'
import { identityOf, criteriaOf } from '../contract/payments.ts'
import { stripeFixture } from './fixture.ts'

const NOW_MS = 1_800_000_000_000
const requested: Record<string, string> = {}

const readFirst = (pages: AsyncIterable<unknown>) => pages[Symbol.asyncIterator]().next()

/** A request for an object, and for what it is expanded with. */
function note(message: unknown): void {
  const { method, url = '' } = (message as { request: IncomingMessage }).request
  const { pathname, searchParams } = new URL(url, 'http://stand-in')
  const [, resource = ''] = /^\/v1\/((?:radar\/)?\w+)/.exec(pathname) ?? []
  // A key that may not read the account is used nevertheless.
  if (resource === '' || resource === 'account') return
  if (method !== 'GET' || requested[resource] === undefined) {
    requested[resource] = method === 'GET' ? 'read' : 'write'
  }
  const isExpanded = [...searchParams.values()].some((value) => value.endsWith('charge'))
  if (isExpanded) requested['charges'] ??= 'read'
}

beforeAll(() => subscribe('http.server.request.start', note))
afterAll(() => void unsubscribe('http.server.request.start', note))

test('a restricted key needs the rights that are declared, and no others', async () => {
  const standIn = await stripeFixture.startStandIn(() => NOW_MS)
  const adapter = stripeFixture.adapterFor(standIn.url)
  for (const name of callNamesOf(stripeFixture)) {
    const payment = await callOf(stripeFixture.calls, name).ready(adapter, standIn)
    const identity = identityOf(name)
    await portCalls[name].make(adapter, payment, identity)
    await portCalls[name].find(adapter, payment, criteriaOf(identity, NOW_MS))
  }
  const day = { from: new Date(NOW_MS - 86_400_000), to: new Date(NOW_MS + 1_000) }
  await Promise.all([
    readFirst(adapter.listPayments(day)),
    readFirst(adapter.listRefunds(day)),
    readFirst(adapter.listDisputes(day)),
    readFirst(adapter.listMovements(day)),
    adapter.readPayment('unknown'),
    adapter.readRefund('unknown'),
    adapter.readDispute('unknown'),
    adapter.readEarlyFraudWarning('unknown'),
  ])
  await standIn.close()

  expect(requested).toEqual(stripeRights)
})
