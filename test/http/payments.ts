// Creates payments in every state through the API, and has shared expectations.
import { expect } from '@jest/globals'
import { problems, type ProblemType } from '../../src/domain/problems/problems.ts'
import { createClient } from '../dev/stripe-stand-in/running-provider.ts'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../support/client.ts'
import type { Service, Tenant } from '../support/service.ts'

export interface ShownPayment {
  readonly id: string
  readonly status: string
  readonly amount_captured: number
  readonly amount_refunded: number
  readonly provider: { readonly payment_id: string }
}

/** Fields of a payment that ends in each state. */
const makers = {
  requires_capture: { capture_method: 'manual' },
  requires_action: { payment_method: 'pm_card_threeDSecureRequired' },
  succeeded: {},
  declined: { payment_method: 'pm_card_chargeDeclined' },
}

export async function makePayment(
  { apiUrl }: Pick<Service, 'apiUrl'>,
  tenant: Tenant,
  status: keyof typeof makers | 'canceled',
): Promise<ShownPayment> {
  const fields = makers[status === 'canceled' ? 'requires_capture' : status]
  const { json } = await postPayment(apiUrl, tenant, paymentBody(fields))
  const payment = (json['payment'] ?? json) as ShownPayment
  if (status !== 'canceled') return payment
  const canceled = await post(apiUrl, tenant, `/v1/payments/${payment.id}/cancel`)
  return canceled.json as unknown as ShownPayment
}

export async function readPayment(
  { apiUrl }: Service,
  tenant: Tenant,
  { id }: { id: string },
): Promise<ShownPayment> {
  const { json } = await get(apiUrl, tenant, `/v1/payments/${id}`)
  return json as unknown as ShownPayment
}

/** The kinds of calls that the provider executed for a payment. */
export async function executedKinds(service: Service, payment: { id: string }): Promise<string[]> {
  return (await service.executedFor(payment)).map(({ kind }) => kind)
}

/** A client of the provider, for changes that bypass the service. */
export function providerOf({ providerUrl }: Service) {
  return createClient(Number(new URL(providerUrl).port))
}

/** Whether the idempotency key has been used. */
export async function isKeyKnown(
  { apiUrl }: Pick<Service, 'apiUrl'>,
  tenant: Tenant,
  key: string,
): Promise<boolean> {
  return (await get(apiUrl, tenant, `/v1/idempotency-keys/${key}`)).status !== 404
}

export function expectProblem(answer: ApiResponse, type: ProblemType): void {
  expect(answer.json).toMatchObject({ type: `/problems/${type}`, status: problems[type].status })
  expect(answer.status).toBe(problems[type].status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
}

/** The parts of an answer that are the same for each request. */
export const stablePartsOf = ({ status, text, headers }: ApiResponse) => ({
  status,
  text,
  headers: [...headers].filter(([name]) => !['date', 'request-id'].includes(name)),
})

/** Expects the same bytes as in the first answer, and the header that marks a replay. */
export function expectReplay(replay: ApiResponse, first: ApiResponse): void {
  expect(replay.text).toBe(first.text)
  expect(replay.status).toBe(first.status)
  expect(replay.headers.get('idempotent-replayed')).toBe('true')
  expect(first.headers.get('idempotent-replayed')).toBeNull()
  for (const name of ['content-type', 'location', 'idempotency-key-expires']) {
    expect(replay.headers.get(name)).toBe(first.headers.get(name))
  }
}

/**
 * A request of each kind of keyed operation: its path, which names a payment of its own if one is needed, and
 * its body.
 */
export const keyedRequests: readonly (readonly [
  string,
  (service: Pick<Service, 'apiUrl'>, tenant: Tenant) => Promise<string> | string,
  object,
])[] = [
  ['a payment', () => '/v1/payments', paymentBody()],
  [
    'a refund',
    async (service, tenant) =>
      `/v1/payments/${(await makePayment(service, tenant, 'succeeded')).id}/refunds`,
    { amount: 500 },
  ],
  ['a webhook endpoint', () => '/v1/webhook-endpoints', { url: 'http://127.0.0.1:9/hooks' }],
]
