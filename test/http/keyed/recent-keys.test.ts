// How many statements a keyed request needs, with and without a key that the process remembers.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { createRecentKeys } from '../../../src/http/keyed/recent-keys.ts'
import { finishIfOwner } from '../../support/record-phase.ts'
import { claimOrThrow, RETENTION_SECONDS } from '../../db/reservations.ts'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'
import { watchSql } from '../../support/watched-sql.ts'
import { limitedApi } from '../../support/for-file.ts'

// Without the limits, the store gets no other statements.
const api = limitedApi({ MAX_ACTIVE_KEYS: '0', MAX_STORED_KEYS: '0' })
let tenant: Tenant
let key: string
/** `reserve`, `find` or `show` for each such statement since the last payment request. */
let statements: string[]
let failure: Error | undefined

beforeAll(async () => {
  watchStatements(api.parts)
  tenant = await api.createTenant()
})
beforeEach(() => {
  key = randomUUID()
  failure = undefined
})

function watchStatements(parts: ApiParts): void {
  const reserving = new WeakSet()
  const watched = watchSql(parts.store.sql, (text, make, client) => {
    if (reserving.has(client)) return make()
    const kind = kindOf(text)
    if (kind !== undefined) statements.push(kind)
    if (kind === 'reserve') reserving.add(client)
    return kind === 'find' && failure !== undefined ? Promise.reject(failure) : make()
  })
  Object.assign(parts, {
    store: { ...parts.store, sql: watched, ofTenant: () => watched },
  })
}

/** Undefined for a part of a statement. */
function kindOf(statement: string): string | undefined {
  const text = statement.trim()
  if (text.startsWith('insert into idempotency_keys')) return 'reserve'
  if (text.startsWith('select found.* from unnest')) return 'find'
  // Of a list, by the id: its table is a part.
  return text === 'select ? ? ? ?' ? 'show' : undefined
}

const pay = (headers: Record<string, string> = {}, url = api.url): Promise<ApiResponse> => {
  statements = []
  return postPayment(url, tenant, paymentBody(), { key, headers })
}

/** Completes the operation without changing the payment; returns the stored body. */
async function completeOperation({ text: body }: ApiResponse): Promise<string> {
  const { sql } = api.store
  const [row] = await sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  const claim = await claimOrThrow(sql, { tenantId: tenant.id, id: row?.id ?? '' })
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  await finishIfOwner(sql, claim, { status: 201, headers, body }, RETENTION_SECONDS)
  return body
}

async function deleteKey(): Promise<void> {
  await api.store.sql`delete from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}`
}

describe('the owner of an operation gets the resource of the reservation', () => {
  test('a payment, as a read returns it', async () => {
    const accepted = await pay({ prefer: 'respond-async' })

    expect(statements).toEqual(['reserve'])
    expect(accepted.status).toBe(202)
    const payment = await get(api.url, tenant, accepted.headers.get('location') ?? '')
    expect(accepted.text).toBe(payment.text)
  })

  test.each([
    ['capture', 'requires_capture', 'payments'],
    ['cancel', 'requires_capture', 'payments'],
    ['refunds', 'succeeded', 'refunds'],
  ])(
    'the resource that %s changed or created, as a read returns it',
    async (action, status, table) => {
      const created = await pay()
      await completeOperation(created)
      const id = String(created.json['id'])
      await api.store.sql`
      update payments set
        status = ${status}, previous_status = 'processing', provider_payment_id = ${id},
        amount_captured_minor = case ${status}::text when 'succeeded' then amount_minor else 0 end
      where id = (select payment_id from idempotency_keys where key = ${key})
    `
      statements = []
      const act = { key: randomUUID() }

      const accepted = await post(api.url, tenant, `/v1/payments/${id}/${action}`, undefined, act)

      // The payment in the path is read first.
      expect(statements).toEqual(['show', 'reserve'])
      expect(accepted).toMatchObject({ status: 202, json: { status: 'processing' } })
      const path = accepted.headers.get('location') ?? ''
      expect(path).toMatch(new RegExp(`^/v1/${table}/`))
      expect(accepted.text).toBe((await get(api.url, tenant, path)).text)
      statements = []
      const retried = await post(api.url, tenant, `/v1/payments/${id}/${action}`, undefined, act)
      expectProblem(retried, 'operation-in-progress')
      expect(statements).toEqual(['find'])
    },
  )

  test('and its later state when the request has waited', async () => {
    const accepted = await pay({ prefer: 'wait=1' })

    expect(statements).toEqual(['reserve', 'find', 'show'])
    expect(accepted.status).toBe(202)
  })
})

describe('a key that this process remembers is looked up instead of reserved', () => {
  test('when its operation is in progress', async () => {
    await pay()

    expectProblem(await pay(), 'operation-in-progress')
    expect(statements).toEqual(['find'])
  })

  test('when its operation is completed, and the response is replayed byte for byte', async () => {
    const stored = await completeOperation(await pay())

    const replayed = await pay()

    expect(statements).toEqual(['find'])
    expect([replayed.status, replayed.text]).toEqual([201, stored])
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
  })

  test('when it belongs to another request', async () => {
    await pay()
    statements = []

    const reused = await postPayment(api.url, tenant, paymentBody({ amount: 1 }), { key })

    expectProblem(reused, 'idempotency-key-reused')
    expect(statements).toEqual(['find'])
  })

  test('and an amount with a fraction is no retry', async () => {
    await pay()

    const headers = { 'content-type': 'application/json' }
    const body = '{"amount":1999.0,"currency":"usd","payment_method":"pm_card_visa"}'
    const invalid = await postPayment(api.url, tenant, body, { key, headers })

    expectProblem(invalid, 'invalid-amount')
  })
})

describe('a key is reserved', () => {
  test('when this process does not remember it', async () => {
    const { url, parts } = await api.serve({ MAX_ACTIVE_KEYS: '0' })
    watchStatements(parts)
    const stored = await completeOperation(await pay())

    const replayed = await pay({}, url)

    expect(statements).toEqual(['reserve'])
    expect([replayed.status, replayed.text]).toEqual([201, stored])
  })

  test('when it was deleted in the meantime', async () => {
    const { json: first } = await pay()
    await deleteKey()

    const second = await pay()

    expect(statements).toEqual(['find', 'reserve'])
    expect(second.status).toBe(202)
    expect(second.json['id']).not.toBe(first['id'])
  })

  test('when its lookup has failed temporarily', async () => {
    await pay()
    failure = Object.assign(new Error('slow'), { code: '57014' })

    expectProblem(await pay(), 'operation-in-progress')
    expect(statements).toEqual(['find', 'reserve'])
  })

  test('by one of many concurrent requests after it was deleted', async () => {
    await pay()
    await deleteKey()

    const answers = await Promise.all(Array.from({ length: 8 }, () => pay()))

    const owners = answers.filter(({ status }) => status === 202)
    expect(owners).toHaveLength(1)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 409]))
  })

  test('by another tenant that uses the same key', async () => {
    await pay()
    const other = await api.createTenant()
    statements = []

    expect((await postPayment(api.url, other, paymentBody(), { key })).status).toBe(202)
    expect(statements).toEqual(['reserve'])
  })
})

test('forgets the oldest keys when there are too many', () => {
  const recentKeys = createRecentKeys(4)
  const names = ['one', 'two', 'one', 'three']
  names.forEach((name) => recentKeys.add('tenant', name))

  expect(['one', 'two', 'three'].map((name) => recentKeys.has('tenant', name))).toEqual([
    true,
    false,
    true,
  ])
})
