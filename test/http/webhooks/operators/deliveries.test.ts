// Webhook deliveries of all tenants, for operators: the list, one delivery, and a redelivery.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Sql } from '../../../../src/db/connection/client.ts'
import { WEBHOOKS_QUEUE } from '../../../../src/db/queue/queues.ts'
import { showId } from '../../../../src/domain/resource-id.ts'
import type { ProblemType } from '../../../../src/domain/problems/problems.ts'
import { startAdminApi, type AdminApi } from '../../../support/admin.ts'
import { expectProblem } from '../../payments.ts'
import {
  makeDelivery,
  makeEndpoint,
  makeTenantOf,
  SIGNING_SECRET,
  type MadeEndpoint,
} from './tenant-webhooks.ts'

const DELIVERIES = '/admin/webhook-deliveries'
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

let api: AdminApi
let sql: Sql
let own: MadeEndpoint
let others: MadeEndpoint
/** Oldest first: of `own`, of `others`, and so on. */
let made: { readonly id: string; readonly event: string }[]

beforeAll(async () => {
  api = await startAdminApi()
  sql = api.t.engine.store.sql
  own = await makeEndpoint(sql, api.t.tenantId)
  others = await makeEndpoint(sql, await makeTenantOf(sql))
  made = [
    await makeDelivery(sql, own, 'failed'),
    await makeDelivery(sql, others, 'pending'),
    await makeDelivery(sql, own, 'succeeded'),
    await makeDelivery(sql, others, 'failed'),
  ]
})

afterAll(() => api.stop())

const madeId = (index: number): string => made[index]?.id ?? ''

/** The ids of a list. */
async function listed(query: string): Promise<unknown[]> {
  const { status, json } = await api.get(`${DELIVERIES}${query}`)
  expect(status).toBe(200)
  return (json['data'] as { id: unknown }[]).map(({ id }) => id)
}

describe('GET /admin/webhook-deliveries', () => {
  test('lists the deliveries of all tenants, newest first, with tenant and attempts', async () => {
    const { text, json } = await api.get(DELIVERIES)

    const [newest] = json['data'] as Record<string, unknown>[]
    expect(newest).toEqual({
      id: madeId(3),
      object: 'webhook_delivery',
      event: made[3]?.event,
      event_type: 'webhook_endpoint.test',
      endpoint: others.id,
      status: 'failed',
      next_attempt_at: null,
      attempts: [
        {
          number: 1,
          started_at: expect.any(String),
          latency_ms: 12,
          http_status: 500,
          error: null,
        },
      ],
      created_at: expect.any(String),
      tenant: others.tenant,
    })
    expect(await listed('')).toEqual(made.map(({ id }) => id).toReversed())
    expect(text).not.toContain(SIGNING_SECRET)
  })

  test('filters by tenant, endpoint, event and status', async () => {
    expect(await listed(`?tenant=${own.tenant}`)).toEqual([madeId(2), madeId(0)])
    expect(await listed(`?endpoint=${others.id}`)).toEqual([madeId(3), madeId(1)])
    expect(await listed(`?event=${made[2]?.event}`)).toEqual([madeId(2)])
    expect(await listed('?status=failed')).toEqual([madeId(3), madeId(0)])
    expect(await listed(`?status=failed&tenant=${others.tenant}`)).toEqual([madeId(3)])
    expect(await listed(`?tenant=${own.tenant}&endpoint=${others.id}`)).toEqual([])
    expect(await listed(`?tenant=${showId('tnt', UNKNOWN)}`)).toEqual([])
  })

  test('pages in both directions', async () => {
    const { json: first } = await api.get(`${DELIVERIES}?limit=3`)
    expect(first['has_more']).toBe(true)
    const { json: last } = await api.get(`${DELIVERIES}?limit=3&starting_after=${madeId(1)}`)
    expect(last).toMatchObject({ has_more: false, data: [{ id: madeId(0) }] })
    expect(await listed(`?limit=2&ending_before=${madeId(0)}`)).toEqual([madeId(2), madeId(1)])
  })

  test('answers the same for a cursor of another tenant and for an unknown one', async () => {
    const query = (cursor: string) => `${DELIVERIES}?tenant=${own.tenant}&ending_before=${cursor}`
    const ofOther = await api.get(query(madeId(1)))
    const unknown = await api.get(query(showId('wd', UNKNOWN)))

    expectProblem(ofOther, 'invalid-query')
    expect(ofOther.json['detail']).toBe(unknown.json['detail'])
  })

  test.each([
    'tenant=shop',
    'endpoint=wd_1',
    'event=payment.succeeded',
    'status=lost',
    'status=failed&status=pending',
    'limit=none',
    'starting_after=x',
    'id=x',
  ])('refuses %s', async (query) => {
    expectProblem(await api.get(`${DELIVERIES}?${query}`), 'invalid-query')
  })
})

describe('GET /admin/webhook-deliveries/:id', () => {
  test('returns a delivery of any tenant', async () => {
    const { status, json } = await api.get(`${DELIVERIES}/${madeId(1)}`)

    expect(status).toBe(200)
    expect(json).toMatchObject({ id: madeId(1), tenant: others.tenant, status: 'pending' })
    expect(json['attempts']).toHaveLength(1)
  })

  test('answers 404 for an unknown id, and for what is no id', async () => {
    for (const id of [showId('wd', UNKNOWN), own.id, 'x']) {
      expectProblem(await api.get(`${DELIVERIES}/${id}`), 'resource-not-found')
    }
  })
})

describe('POST /admin/webhook-deliveries/:id/redeliver', () => {
  const jobs = async () => {
    const [row] = await sql`
      select count(*)::int as jobs from atomic_jobs.job where name = ${WEBHOOKS_QUEUE}
    `
    return row?.['jobs'] as number
  }

  test('makes the delivery pending again, and is in the audit trail', async () => {
    const { id } = await makeDelivery(sql, others, 'failed')
    const before = await jobs()
    const { status, json } = await api.post(`${DELIVERIES}/${id}/redeliver`, undefined, 'bob')

    expect(status).toBe(202)
    expect(json).toMatchObject({
      id,
      tenant: others.tenant,
      status: 'pending',
      next_attempt_at: expect.any(String),
    })
    expect(await jobs()).toBe(before + 1)
    expect(await api.trailOf(id)).toEqual([
      {
        actor: 'bob',
        action: 'webhook_delivery.redeliver',
        details: { tenant: others.tenant, from: 'failed' },
      },
    ])
  })

  test.each<[string, () => Promise<string>, unknown, ProblemType]>([
    ['an unknown delivery', async () => showId('wd', UNKNOWN), {}, 'resource-not-found'],
    [
      'a delivery to a disabled endpoint',
      async () => {
        const disabled = await makeEndpoint(sql, api.t.tenantId, 'disabled')
        return (await makeDelivery(sql, disabled)).id
      },
      {},
      'webhook-endpoint-disabled',
    ],
    ['an unknown field', async () => madeId(0), { force: true }, 'unknown-field'],
    ['what is not JSON', async () => madeId(0), '{"', 'malformed-json'],
  ])('refuses %s, records that, and starts nothing', async (_, prepare, body, type) => {
    const id = await prepare()
    const before = [await jobs(), (await api.trailOf(id)).length] as const

    expectProblem(await api.post(`${DELIVERIES}/${id}/redeliver`, body), type)

    const trail = await api.trailOf(id)
    expect([await jobs(), trail.length]).toEqual([before[0], before[1] + 1])
    expect(trail.at(-1)).toMatchObject({ actor: 'alice', details: { refused: type } })
  })
})
