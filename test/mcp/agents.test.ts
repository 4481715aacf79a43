// Agents that lose answers, crash and retry with other keys charge each order once.
import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createClient } from '../../client/index.ts'
import { serveHttp } from '../../mcp/http.ts'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { seededRandom } from '../support/seeded-random.ts'
import type { ExecutedCall } from '../support/service.ts'
import { service, tenant } from '../support/shared-service.ts'
import { until } from '../support/until.ts'
import { connectHttp, TOKEN, type Agent } from './connect.ts'

const SEEDS = [1, 2]
const AGENTS = 4
const ORDERS = 6
const CALLS_OF_AN_AGENT = 16

let server: Server
let url: string
let random = seededRandom(0)

beforeAll(async () => {
  const client = createClient({
    baseUrl: service.apiUrl,
    apiKey: tenant.apiKey,
    fetch: loseSome,
    retry: { maxFailures: 2, deadlineMs: 5_000, baseDelayMs: 1, maxDelayMs: 20 },
  })

  const settings = { host: '127.0.0.1', port: 0, token: TOKEN, hosts: ['127.0.0.1'], origins: [] }
  server = await serveHttp(client, settings)
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => void server.close())

/** Loses some requests before they arrive, and some answers after the work was done. */
async function loseSome(request: Request): Promise<Response> {
  const fate = random(10)
  if (fate === 0) throw new TypeError('the request was lost')
  const response = await fetch(request)
  if (fate < 4) throw new TypeError('the answer was lost')
  return response
}

/** What one agent does, in the order that the seed gives. */
async function runAgent(agent: Agent, orders: readonly string[]): Promise<void> {
  for (let call = 0; call < CALLS_OF_AN_AGENT; call += 1) {
    const reference = orders[random(orders.length)] ?? ''
    const asked = { reference, amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
    const steps: (() => Promise<unknown>)[] = [
      () => agent.call('pay', asked),
      // Another amount, another card, another attempt: an agent that has lost its memory.
      () => agent.call('pay', { ...asked, amount: 1000 + random(1000) }),
      () => agent.call('pay', { ...asked, payment_method: 'pm_card_mastercard' }),
      () => agent.call('pay', { ...asked, attempt: 1 + random(4) }),
      () => agent.call('look_up', { reference }),
      // It crashes while it waits.
      () => agent.call('pay', asked, AbortSignal.timeout(1 + random(40))),
      // It does not use the tools, and makes a new key for each try.
      () => postPayment(service.apiUrl, tenant, paymentBody({ reference })),
      () => postPayment(service.apiUrl, tenant, paymentBody({ reference }), { key: randomUUID() }),
      // The card of this order is declined, which leaves the reference free.
      () => agent.call('pay', { ...asked, payment_method: 'pm_card_chargeDeclined' }),
    ]
    await steps[random(steps.length)]?.().catch(() => {})
  }
}

test.each(SEEDS)('seed %i: one charge for each order', async (seed) => {
  random = seededRandom(seed)
  const orders = Array.from({ length: ORDERS }, (_, index) => `${seed}-${index}-${randomUUID()}`)
  const agents = await Promise.all(Array.from({ length: AGENTS }, () => connectHttp(url)))
  await Promise.all(agents.map((agent) => runAgent(agent, orders)))
  // At last one agent pays each order, until it knows the end.
  const [last] = agents as [Agent]
  for (const reference of orders) {
    const asked = { reference, amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
    let attempt = 1
    await until(async () => {
      const { outcome } = await last.call('pay', { ...asked, attempt })
      if (outcome === 'declined') attempt += 1
      return outcome === 'succeeded'
    })
  }
  for (const agent of agents) await agent.client.close()

  const { data } = (await service.control('GET', 'executed')) as { data: ExecutedCall[] }
  for (const reference of orders) {
    const calls = data.filter((call) => call.metadata['atomic_reference'] === reference)
    expect(calls.map(({ kind }) => kind)).toEqual([
      'payment_intent.create',
      'payment_intent.capture',
    ])
    const { json } = await get(service.apiUrl, tenant, `/v1/payments?reference=${reference}`)
    const payments = json['data'] as { status: string }[]
    expect(payments.filter(({ status }) => status === 'succeeded')).toHaveLength(1)
  }
})
