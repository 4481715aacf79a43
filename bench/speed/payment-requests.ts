// Builds the requests of the load: payments at the service, and authorizations at the provider.
// Sends single ones with as little processor time as possible, because the load shares the cores of
// the service that it measures.
import { randomUUID } from 'node:crypto'
import { globalAgent, request, type Agent } from 'node:http'
import type { BenchTenant } from '../stack.ts'
import type { LoadRequest } from './load.ts'

export interface CompletedKey {
  readonly key: string
  readonly paymentId: string
}

/** The body of every payment request. */
export const PAYMENT = JSON.stringify({
  amount: 1999,
  currency: 'usd',
  payment_method: 'pm_card_visa',
  description: 'An order of the shop',
})

/** Returns a payment request with a new key, whose client waits for the result. */
export function payAndWait(tenant: BenchTenant): LoadRequest {
  return post('/v1/payments', keyed(tenant, randomUUID()))
}

export function keyed(tenant: BenchTenant, key: string): Record<string, string> {
  return { ...authorized(tenant), 'idempotency-key': key }
}

export function authorized({ apiKey }: BenchTenant): Record<string, string> {
  return { authorization: `Bearer ${apiKey}` }
}

export function post(
  path: string,
  headers: Record<string, string>,
  body: string = PAYMENT,
): LoadRequest {
  return { method: 'POST', path, headers: { ...headers, 'content-type': 'application/json' }, body }
}

export function getOf(tenant: BenchTenant, paymentId: string): LoadRequest {
  return { method: 'GET', path: `/v1/payments/${paymentId}`, headers: authorized(tenant) }
}

const INTENT = new URLSearchParams({
  amount: '1999',
  currency: 'usd',
  payment_method: 'pm_card_visa',
  capture_method: 'manual',
  confirm: 'true',
  return_url: 'https://example.com/',
}).toString()

export function authorize(): LoadRequest {
  return {
    method: 'POST',
    path: '/v1/payment_intents',
    headers: {
      authorization: 'Bearer sk_test_mock',
      'idempotency-key': randomUUID(),
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: INTENT,
  }
}

/** Makes one payment and waits until it succeeds. */
export async function payOnce(
  apiUrl: string,
  tenant: BenchTenant,
  agent: Agent = globalAgent,
): Promise<CompletedKey> {
  const key = randomUUID()
  const text = await sendExpecting(201, apiUrl, agent, post('/v1/payments', keyed(tenant, key)))
  return { key, paymentId: (JSON.parse(text) as { id: string }).id }
}

/** Returns the body of the answer. @throws Error when it has another status. */
export async function sendExpecting(
  expected: number,
  url: string,
  agent: Agent,
  sent: LoadRequest,
): Promise<string> {
  const { status, text } = await send(url, agent, sent)
  if (status !== expected) throw new Error(`answered ${status}: ${text}`)
  return text
}

/** Uses Node's plain client: `fetch` costs as much processor time as the API does. */
export function send(
  url: string,
  agent: Agent,
  { path, method, headers, body }: LoadRequest,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { agent, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Returns a random item. @throws Error when the list is empty. */
export function anyOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)]
  if (item === undefined) throw new Error('cannot choose from an empty list')
  return item
}
