// The member `idempotency` of answers: what it says, that the stored bytes come before it unchanged,
// and that it is never stored.
import { randomUUID } from 'node:crypto'
import type { Request } from 'express'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { addIdempotencyMember } from '../../../src/http/keyed/idempotency-member.ts'
import { paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { startService, type Service, type Tenant } from '../../support/service.ts'
import { expectProblem, makePayment } from '../payments.ts'

const PREFER = 'return=representation-with-idempotency'

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService({ WEBHOOK_ALLOW_INSECURE: 'true' })
  tenant = await service.createTenant()
})
afterAll(() => service.stop())

function expectMember(answer: ApiResponse, stored: ApiResponse, replayed: boolean): void {
  const expires = new Date(answer.headers.get('idempotency-key-expires') ?? '').toISOString()
  const member = JSON.stringify({ replayed, key_expires_at: expires })
  expect(answer.text).toBe(`${stored.text.slice(0, -1)},"idempotency":${member}}`)
  expect(answer.status).toBe(stored.status)
  expect(answer.headers.get('preference-applied')).toBe(PREFER)
  expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)))
}

const kinds: [string, () => Promise<string>, unknown, number][] = [
  ['a payment', () => Promise.resolve('/v1/payments'), paymentBody(), 201],
  [
    'a decline',
    () => Promise.resolve('/v1/payments'),
    paymentBody({ payment_method: 'pm_card_chargeDeclined' }),
    402,
  ],
  [
    'a refund',
    async () => `/v1/payments/${(await makePayment(service, tenant, 'succeeded')).id}/refunds`,
    {},
    201,
  ],
  [
    'a webhook endpoint',
    () => Promise.resolve('/v1/webhook-endpoints'),
    { url: 'http://127.0.0.1:9/hooks' },
    201,
  ],
]

describe('a client that prefers it', () => {
  test.each(kinds)('reads it in %s, and in its replay', async (_, makePath, body, status) => {
    const path = await makePath()
    const key = randomUUID()
    const send = (headers: Record<string, string>) =>
      post(service.apiUrl, tenant, path, body, { key, headers })

    const first = await send({ prefer: PREFER })
    const stored = await send({})
    const replay = await send({ prefer: PREFER })

    expect(stored.status).toBe(status)
    expect(stored.text).not.toContain('"idempotency"')
    expect(stored.headers.get('idempotent-replayed')).toBe('true')
    expectMember(first, stored, false)
    expectMember(replay, stored, true)
  })

  test('reads it in a 202 as well, beside the other preferences', async () => {
    const headers = { prefer: `respond-async, ${PREFER}` }

    const accepted = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })

    expect(accepted.status).toBe(202)
    expect(accepted.json['idempotency']).toMatchObject({ replayed: false })
    expect(accepted.headers.get('preference-applied')).toBe(headers.prefer)
  })

  test('gets an error that uses up no key as it is', async () => {
    const body = paymentBody({ amount: 0 })
    const refused = await postPayment(service.apiUrl, tenant, body, { headers: { prefer: PREFER } })

    expectProblem(refused, 'invalid-amount')
    expect(refused.json).not.toHaveProperty('idempotency')
  })
})

test.each([undefined, 'return=representation', 'return=minimal', `wait=5;${PREFER}`])(
  'a client with Prefer: %s gets the stored bytes alone',
  async (prefer) => {
    const headers: Record<string, string> = prefer === undefined ? {} : { prefer }
    const answer = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })

    expect(answer.json).not.toHaveProperty('idempotency')
    expect(answer.headers.get('preference-applied') ?? '').not.toContain('return')
  },
)

test('any JSON object keeps its bytes and its members', () => {
  const request = { headersDistinct: { prefer: [PREFER] } } as unknown as Request
  const headers = { 'idempotency-key-expires': 'Fri, 27 Nov 2026 08:49:37 GMT' }
  const member = { replayed: false, key_expires_at: '2026-11-27T08:49:37.000Z' }
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (object) => {
      const body = JSON.stringify(object)
      const marked = String(addIdempotencyMember(request, { status: 201, headers, body }).body)
      expect(marked.startsWith(body.slice(0, -1))).toBe(true)
      expect(JSON.parse(marked)).toEqual({ ...(JSON.parse(body) as object), idempotency: member })
    }),
  )
})
