// Builds the requests of the load: payments at the service, and authorizations at the provider.
import { randomUUID } from 'node:crypto'
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

export function post(path: string, headers: Record<string, string>): LoadRequest {
  return {
    method: 'POST',
    path,
    headers: { ...headers, 'content-type': 'application/json' },
    body: PAYMENT,
  }
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
  key: string,
): Promise<CompletedKey> {
  const headers = { ...keyed(tenant, key), 'content-type': 'application/json' }
  const response = await fetch(`${apiUrl}/v1/payments`, { method: 'POST', headers, body: PAYMENT })
  const payment = (await response.json()) as { id: string }
  if (response.status !== 201) throw new Error(`a payment was answered with ${response.status}`)
  return { key, paymentId: payment.id }
}
