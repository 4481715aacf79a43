// The member `idempotency` of answers, which is added to the stored bytes and never stored.
import { randomUUID } from 'node:crypto'
import type { Request } from 'express'
import { describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { addIdempotencyMember } from '../../../src/http/keyed/prefer.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { problemResponse } from '../../../src/domain/operations/stored-response.ts'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { claimOrThrow, failed, giveBack, unknown } from '../../db/reservations.ts'
import { paymentBody, post, postPayment, remove, type ApiResponse } from '../../support/client.ts'
import { forFile, limitedApi } from '../../support/for-file.ts'
import { startLimitedApiOn } from '../../support/limited-api.ts'
import { finishIfOwner } from '../../support/record-phase.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { expectProblem, keyedRequests } from '../payments.ts'

const PREFER = 'return=representation-with-idempotency'
const ALWAYS = { WEBHOOK_ALLOW_INSECURE: 'true', IDEMPOTENCY_MEMBER: 'always' }

/** An API of the same service. */
const always = forFile(() =>
  startLimitedApiOn(service.databaseUrl, { ...ALWAYS, WAIT_SECONDS: '20' }),
)
/** One without a worker. */
const api = limitedApi(ALWAYS)

function expectMember(
  answer: ApiResponse,
  stored: ApiResponse,
  { replayed, applied }: { replayed: boolean; applied: string | null },
): void {
  const expires = new Date(answer.headers.get('idempotency-key-expires') ?? '').toISOString()
  const member = JSON.stringify({ replayed, key_expires_at: expires })
  expect(answer.text).toBe(`${stored.text.slice(0, -1)},"idempotency":${member}}`)
  expect(answer.status).toBe(stored.status)
  expect(answer.headers.get('preference-applied')).toBe(applied)
  expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)))
}

const kinds: typeof keyedRequests = [
  ...keyedRequests,
  ['a decline', () => '/v1/payments', paymentBody({ payment_method: 'pm_card_chargeDeclined' })],
]

describe.each([
  ['a client that prefers it', PREFER],
  ['with IDEMPOTENCY_MEMBER=always every client', null],
])('%s', (_who, applied) => {
  const send = (path: string, body: unknown, key: string = randomUUID()) =>
    applied === null
      ? post(always.url, tenant, path, body, { key })
      : post(service.apiUrl, tenant, path, body, { key, headers: { prefer: applied } })

  test.each(kinds)('reads it in %s, and in its replay', async (what, makePath, body) => {
    const path = await makePath(service, tenant)
    const key = randomUUID()

    const first = await send(path, body, key)
    const stored = await post(service.apiUrl, tenant, path, body, { key })
    const replay = await send(path, body, key)

    expect(stored.status).toBe(what === 'a decline' ? 402 : 201)
    expect(stored.text).not.toContain('"idempotency"')
    expect(stored.headers.get('idempotent-replayed')).toBe('true')
    expectMember(first, stored, { replayed: false, applied })
    expectMember(replay, stored, { replayed: true, applied })
  })

  test.each([
    [{ amount: 0 }, 'invalid-amount'],
    [{ customer: 'cus_of_no_tenant' }, 'customer-not-found'],
  ] as const)('gets an error that uses up no key as it is: %j', async (fields, problem) => {
    const refused = await send('/v1/payments', paymentBody(fields))

    expectProblem(refused, problem)
    expect(refused.json).not.toHaveProperty('idempotency')
  })
})

test('a client reads it in a 202 as well, beside the other preferences', async () => {
  const headers = { prefer: `respond-async, ${PREFER}` }

  const accepted = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })

  expect(accepted.status).toBe(202)
  expect(accepted.json['idempotency']).toMatchObject({ replayed: false })
  expect(accepted.headers.get('preference-applied')).toBe(headers.prefer)
})

test('a client reads it in the answer to a DELETE', async () => {
  const { json } = await post(always.url, tenant, '/v1/webhook-endpoints', {
    url: 'http://127.0.0.1:9/',
  })

  const removed = await remove(always.url, tenant, `/v1/webhook-endpoints/${String(json['id'])}`)

  expect(removed.json).toMatchObject({ deleted: true, idempotency: { replayed: false } })
})

/** A payment that no worker has begun, and what sends its request again. */
async function accept() {
  const own = await api.createTenant()
  const key = randomUUID()
  const send = (fields = {}, headers = {}) =>
    postPayment(api.url, own, paymentBody(fields), { key, headers })
  const { status, json } = await send()
  expect(status).toBe(202)
  expect(json['idempotency']).toMatchObject({ replayed: false })
  const [ref] = await api.store.sql<OperationRef[]>`
    select tenant_id as "tenantId", id from idempotency_keys where key = ${key}
  `
  if (ref === undefined) throw new Error('the key is gone')
  return { ...ref, send, own, key }
}

type Accepted = Awaited<ReturnType<typeof accept>>

/** Brings the operation into a state in which its retry gets the problem. */
const arrangements: [ProblemType, boolean, (accepted: Accepted) => Promise<unknown>][] = [
  ['operation-in-progress', false, () => Promise.resolve()],
  [
    'outcome-unknown',
    false,
    async (ref) => giveBack(api.store, await claimOrThrow(api.store.sql, ref), unknown),
  ],
  [
    'provider-unavailable',
    false,
    async (ref) => {
      await giveBack(api.store, await claimOrThrow(api.store.sql, ref), failed)
      // A retry does not reopen it.
      await api.store.sql`
        update idempotency_keys set cancellation = 'in_progress' where id = ${ref.id}
      `
    },
  ],
  [
    'invalid-state',
    false,
    async (ref) => {
      await giveBack(api.store, await claimOrThrow(api.store.sql, ref), failed)
      await api.store.sql`
        update payments set status = 'canceled', previous_status = 'processing'
        where tenant_id = ${ref.tenantId}
      `
    },
  ],
  [
    'operation-canceled',
    true,
    ({ own, key }) => post(api.url, own, `/v1/idempotency-keys/${key}/cancel`),
  ],
  [
    'operation-timed-out',
    true,
    async (ref) => {
      const claim = await claimOrThrow(api.store.sql, ref)
      const timeout = problemResponse('ietf', 'operation-timed-out')
      await finishIfOwner(api.store.sql, claim, timeout, 86_400)
    },
  ],
]

test.each(arrangements)(
  'a retry reads it in %s, with replayed: %s',
  async (type, replayed, make) => {
    const accepted = await accept()
    await make(accepted)

    const retry = await accepted.send()

    expectProblem(retry, type)
    const until = new Date(retry.headers.get('idempotency-key-expires') ?? '').toISOString()
    expect(retry.json['idempotency']).toEqual({ replayed, key_expires_at: until })
  },
)

test('another request with the key reads it in its refusal, with the expiry of the key', async () => {
  const { send } = await accept()

  const other = await send({ amount: 5 })

  expectProblem(other, 'idempotency-key-reused')
  expect(other.json['idempotency']).toMatchObject({ replayed: false })
})

test('a client that prefers it reads it in problems, too', async () => {
  const { url } = await api.serve({})
  const { own, key } = await accept()
  const send = (headers: Record<string, string>) =>
    postPayment(url, own, paymentBody(), { key, headers })

  const plain = await send({})
  const preferred = await send({ prefer: PREFER })

  expect(plain.json).not.toHaveProperty('idempotency')
  expect(preferred.headers.get('preference-applied')).toBe(PREFER)
  expect(preferred.json['idempotency']).toMatchObject({ replayed: false })
})

test.each(['stripe', 'acp'])(
  'an error of the flavour %s has it beside its members',
  async (flavor) => {
    const settings = { IDEMPOTENCY_FLAVOR: flavor, IDEMPOTENCY_MEMBER: 'always' }
    const { url } = await api.serve(settings)
    const { own, key } = await accept()

    const retry = await postPayment(url, own, paymentBody(), { key })

    expect(retry.status).toBe(409)
    expect(Object.keys(retry.json).at(-1)).toBe('idempotency')
    expect(retry.json['idempotency']).toMatchObject({ replayed: false })
  },
)

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
  const settings = { IDEMPOTENCY_MEMBER: 'preferred' } as const
  const headers = { 'idempotency-key-expires': 'Fri, 27 Nov 2026 08:49:37 GMT' }
  const member = { replayed: false, key_expires_at: '2026-11-27T08:49:37.000Z' }
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (object) => {
      const body = JSON.stringify(object)
      const marked = String(
        addIdempotencyMember(settings, request, { status: 201, headers, body }).body,
      )
      expect(marked.startsWith(body.slice(0, -1))).toBe(true)
      expect(JSON.parse(marked)).toEqual({ ...(JSON.parse(body) as object), idempotency: member })
    }),
  )
})
