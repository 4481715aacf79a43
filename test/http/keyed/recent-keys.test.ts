// How many statements a keyed request takes beside its authentication, and that a process which remembers
// that a key was taken tells no less of it than one which does not.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { createRecentKeys } from '../../../src/http/keyed/recent-keys.ts'
import { finishIfOwner } from '../../../src/db/operations/phase-records.ts'
import { claimOrThrow, RETENTION_SECONDS } from '../../db/reservations.ts'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

let api: LimitedApi
let tenant: Tenant
let key: string
/** `reserve`, `find` or `show` for each of these statements since the last payment was asked for. */
let statements: string[]
let failure: Error | undefined

beforeAll(async () => {
  // Only what is expected here is asked of the store.
  api = await startLimitedApi({ MAX_ACTIVE_KEYS: '0' })
  watchStatements(api.parts)
  tenant = await api.createTenant()
})
beforeEach(() => {
  key = randomUUID()
  failure = undefined
})
afterAll(() => api.stop())

function watchStatements(parts: ApiParts): void {
  const { sql } = parts.store
  const watched = new Proxy(sql, {
    apply(target, self, [strings, ...values]: [TemplateStringsArray | string, ...unknown[]]) {
      const kind = typeof strings === 'string' ? undefined : kindOf(strings)
      if (kind !== undefined) statements.push(kind)
      if (kind === 'find' && failure !== undefined) return Promise.reject(failure)
      return Reflect.apply(target, self, [strings, ...values]) as unknown
    },
  })
  Object.assign(parts, { store: { ...parts.store, sql: watched } })
}

/** Undefined for what is no statement, but a part of one. */
function kindOf(strings: readonly string[]): string | undefined {
  const text = strings.join('?').trim()
  if (text.startsWith('with reserved as')) return 'reserve'
  if (text.startsWith('select ? from idempotency_keys')) return 'find'
  return /^select to_jsonb\((payments|refunds)\)/.test(text) ? 'show' : undefined
}

const pay = (headers: Record<string, string> = {}, url = api.url): Promise<ApiResponse> => {
  statements = []
  return postPayment(url, tenant, paymentBody(), { key, headers })
}

/** Finishes the operation, as if nothing had become of the payment; returns what is stored. */
async function finish({ text: body }: ApiResponse): Promise<string> {
  const { sql } = api.store
  const [row] = await sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  const claim = await claimOrThrow(sql, { tenantId: tenant.id, id: row?.id ?? '' })
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  await sql.begin((tx) =>
    finishIfOwner(tx, claim, { status: 201, headers, body }, RETENTION_SECONDS),
  )
  return body
}

async function forget(): Promise<void> {
  await api.store.sql`delete from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}`
}

describe('who owns an operation is shown what the reservation has made', () => {
  test('a payment, as it can be read', async () => {
    const accepted = await pay({ prefer: 'respond-async' })

    expect(statements).toEqual(['reserve'])
    expect(accepted.status).toBe(202)
    const shown = await get(api.url, tenant, accepted.headers.get('location') ?? '')
    expect(accepted.text).toBe(shown.text)
  })

  test.each([
    ['capture', 'requires_capture', 'payments'],
    ['cancel', 'requires_capture', 'payments'],
    ['refunds', 'succeeded', 'refunds'],
  ])('what %s has changed or made, as it can be read', async (action, status, table) => {
    const made = await pay()
    await finish(made)
    const id = String(made.json['id'])
    await api.store.sql`
      update payments set
        status = ${status}, previous_status = 'processing', provider_payment_id = ${id},
        amount_captured_minor = case ${status}::text when 'succeeded' then amount_minor else 0 end
      where id = (select payment_id from idempotency_keys where key = ${key})
    `
    statements = []

    const accepted = await post(api.url, tenant, `/v1/payments/${id}/${action}`)

    // The payment in the path is looked for first.
    expect(statements).toEqual(['show', 'reserve'])
    expect(accepted).toMatchObject({ status: 202, json: { status: 'processing' } })
    const path = accepted.headers.get('location') ?? ''
    expect(path).toMatch(new RegExp(`^/v1/${table}/`))
    expect(accepted.text).toBe((await get(api.url, tenant, path)).text)
  })

  test('and as it is later when the request has waited', async () => {
    const accepted = await pay({ prefer: 'wait=1' })

    expect(statements).toEqual(['reserve', 'find', 'show'])
    expect(accepted.status).toBe(202)
  })
})

describe('a key that this process has seen is looked for, not reserved again', () => {
  test('when its operation is not done', async () => {
    await pay()

    expectProblem(await pay(), 'operation-in-progress')
    expect(statements).toEqual(['find'])
  })

  test('when it is done, whose response is replayed byte for byte', async () => {
    const stored = await finish(await pay())

    const replayed = await pay()

    expect(statements).toEqual(['find'])
    expect([replayed.status, replayed.text]).toEqual([201, stored])
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
  })

  test('when another request has it', async () => {
    await pay()
    statements = []

    const reused = await postPayment(api.url, tenant, paymentBody({ amount: 1 }), { key })

    expectProblem(reused, 'idempotency-key-reused')
    expect(statements).toEqual(['find'])
  })
})

describe('a key is reserved', () => {
  test('when this process has not seen it', async () => {
    const { url, parts } = await api.serve({ MAX_ACTIVE_KEYS: '0' })
    watchStatements(parts)
    const stored = await finish(await pay())

    const replayed = await pay({}, url)

    expect(statements).toEqual(['reserve'])
    expect([replayed.status, replayed.text]).toEqual([201, stored])
  })

  test('when it is seen and forgotten since', async () => {
    const { json: first } = await pay()
    await forget()

    const second = await pay()

    expect(statements).toEqual(['find', 'reserve'])
    expect(second.status).toBe(202)
    expect(second.json['id']).not.toBe(first['id'])
  })

  test('when looking for it has failed in passing', async () => {
    await pay()
    failure = Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })

    expectProblem(await pay(), 'operation-in-progress')
    expect(statements).toEqual(['find', 'reserve'])
  })

  test('by one of many that come at once after it was forgotten', async () => {
    await pay()
    await forget()

    const answers = await Promise.all(Array.from({ length: 8 }, () => pay()))

    const owners = answers.filter(({ status }) => status === 202)
    expect(owners).toHaveLength(1)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 409]))
  })

  test('by its own tenant, whatever others have seen', async () => {
    await pay()
    const other = await api.createTenant()
    statements = []

    expect((await postPayment(api.url, other, paymentBody(), { key })).status).toBe(202)
    expect(statements).toEqual(['reserve'])
  })
})

test('of too many keys the one that was used longest ago is not remembered', () => {
  const seen = createRecentKeys(4)
  const names = ['one', 'two', 'one', 'three']
  names.forEach((name) => seen.add('tenant', name))

  expect(['one', 'two', 'three'].map((name) => seen.has('tenant', name))).toEqual([
    true,
    false,
    true,
  ])
})
