// Webhook endpoints and deliveries of all tenants, for operators: the lists, each one, a replay and a redelivery.
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Sql } from '../../../../src/db/connection/client.ts'
import { WEBHOOKS_QUEUE } from '../../../../src/db/queue/jobs.ts'
import type { ProblemType } from '../../../../src/domain/problems/problems.ts'
import { showId } from '../../../../src/domain/resource-id.ts'
import { adminApi } from '../../../support/for-file.ts'
import { expectProblem } from '../../payments.ts'
import { type MadeEndpoint, makeDelivery, makeEndpoint, makeTenantOf } from './tenant-webhooks.ts'

const ENDPOINTS = '/admin/webhook-endpoints'
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

const api = adminApi()
let sql: Sql
let own: MadeEndpoint
let others: MadeEndpoint
let disabled: MadeEndpoint
let paused: MadeEndpoint
let deleted: MadeEndpoint

beforeAll(async () => {
  sql = api.t.engine.store.sql
  const other = await makeTenantOf(sql)
  own = await makeEndpoint(sql, api.t.tenantId)
  others = await makeEndpoint(sql, other)
  disabled = await makeEndpoint(sql, other, 'disabled')
  paused = await makeEndpoint(sql, api.t.tenantId, 'paused')
  deleted = await makeEndpoint(sql, other, 'deleted')
})

/** The ids of a list. */
async function idsOf(path: string): Promise<unknown[]> {
  const { status, json } = await api.get(path)
  expect(status).toBe(200)
  return (json['data'] as { id: unknown }[]).map(({ id }) => id)
}

const jobs = async () => {
  const [row] = await sql`
    select count(*)::int as jobs from atomic_jobs.job where name = ${WEBHOOKS_QUEUE}
  `
  return row?.['jobs'] as number
}

describe('GET /admin/webhook-endpoints', () => {
  const listed = (query: string) => idsOf(`${ENDPOINTS}${query}`)

  test('lists the endpoints of all tenants, newest first, each with its tenant', async () => {
    const { json } = await api.get(ENDPOINTS)

    expect(json).toMatchObject({
      object: 'list',
      has_more: false,
      data: [
        { id: paused.id, tenant: own.tenant, status: 'enabled' },
        { id: disabled.id, tenant: others.tenant, status: 'disabled' },
        { id: others.id, tenant: others.tenant },
        { id: own.id, tenant: own.tenant, url: 'https://shop.example/hooks' },
      ],
    })
  })

  test('filters by tenant and by status', async () => {
    expect(await listed(`?tenant=${own.tenant}`)).toEqual([paused.id, own.id])
    expect(await listed('?status=disabled')).toEqual([disabled.id])
    expect(await listed('?status=paused')).toEqual([paused.id])
    expect(await listed('?status=enabled')).toEqual([paused.id, others.id, own.id])
    expect(await listed(`?status=disabled&tenant=${own.tenant}`)).toEqual([])
    expect(await listed(`?tenant=${showId('tnt', UNKNOWN)}`)).toEqual([])
  })
})

describe('GET /admin/webhook-endpoints/:id', () => {
  test('returns an endpoint of any tenant', async () => {
    const { status, json } = await api.get(`${ENDPOINTS}/${disabled.id}`)

    expect(status).toBe(200)
    expect(json).toEqual({
      id: disabled.id,
      object: 'webhook_endpoint',
      url: 'https://shop.example/hooks',
      description: null,
      event_types: ['*'],
      status: 'disabled',
      disabled_reason: 'failing',
      paused_until: null,
      created_at: expect.any(String),
      tenant: disabled.tenant,
    })
  })

  test('answers 404 for a deleted endpoint', async () => {
    expectProblem(await api.get(`${ENDPOINTS}/${deleted.id}`), 'resource-not-found')
  })
})

describe('POST /admin/webhook-endpoints/:id/replay', () => {
  const statusesOf = async ({ uuid }: MadeEndpoint) =>
    (await sql`select status from webhook_deliveries where endpoint_id = ${uuid} order by id`).map(
      ({ status }) => status as string,
    )
  test('starts what has failed since the moment again, and is in the audit trail', async () => {
    const endpoint = await makeEndpoint(sql, api.t.tenantId)
    await makeDelivery(sql, endpoint, 'failed')
    await makeDelivery(sql, endpoint, 'failed')
    await makeDelivery(sql, endpoint, 'succeeded')
    await makeDelivery(sql, others, 'failed')
    const before = await jobs()
    const since = new Date(Date.now() - 60_000).toISOString()
    const { status, json } = await api.post(`${ENDPOINTS}/${endpoint.id}/replay`, { since }, 'bob')

    expect(status).toBe(202)
    expect(json).toEqual({
      object: 'webhook_replay',
      endpoint: endpoint.id,
      since,
      deliveries: 2,
      has_more: false,
      tenant: endpoint.tenant,
    })
    expect(await statusesOf(endpoint)).toEqual(['pending', 'pending', 'succeeded'])
    expect(await statusesOf(others)).toEqual(['failed'])
    expect(await jobs()).toBe(before + 2)
    expect(await api.trailOf(endpoint.id)).toEqual([
      {
        actor: 'bob',
        action: 'webhook_endpoint.replay',
        details: { tenant: endpoint.tenant, since, deliveries: 2 },
      },
    ])
  })

  const since = '2026-01-31T12:00:00Z'

  test.each<[string, () => string, unknown, ProblemType]>([
    ['a disabled endpoint', () => disabled.id, { since }, 'webhook-endpoint-disabled'],
    ['a deleted endpoint', () => deleted.id, { since }, 'resource-not-found'],
    ['no moment', () => own.id, {}, 'invalid-field'],
    ['no body', () => own.id, undefined, 'invalid-field'],
    ['a date without a time', () => own.id, { since: '2026-01-31' }, 'invalid-field'],
    ['a number', () => own.id, { since: 1_769_860_800 }, 'invalid-field'],
  ])('refuses %s, records that, and starts nothing', async (_, idOf, body, type) => {
    const before = [await jobs(), (await api.trailOf(idOf())).length] as const

    expectProblem(await api.post(`${ENDPOINTS}/${idOf()}/replay`, body), type)

    const trail = await api.trailOf(idOf())
    expect([await jobs(), trail.length]).toEqual([before[0], before[1] + 1])
    expect(trail.at(-1)).toEqual({
      actor: 'alice',
      action: 'webhook_endpoint.replay',
      details: { refused: type },
    })
  })
})

describe('webhook deliveries', () => {
  const DELIVERIES = '/admin/webhook-deliveries'
  /** Oldest first: of `own`, of `others`, and so on. */
  let made: { readonly id: string; readonly event: string }[]

  beforeAll(async () => {
    await sql`delete from webhook_attempts`
    await sql`delete from webhook_deliveries`
    made = [
      await makeDelivery(sql, own, 'failed'),
      await makeDelivery(sql, others, 'pending'),
      await makeDelivery(sql, own, 'succeeded'),
      await makeDelivery(sql, others, 'failed'),
    ]
  })

  const madeId = (index: number): string => made[index]?.id ?? ''

  const listed = (query: string) => idsOf(`${DELIVERIES}${query}`)

  describe('GET /admin/webhook-deliveries', () => {
    test('lists the deliveries of all tenants, newest first, with tenant and attempts', async () => {
      const { json } = await api.get(DELIVERIES)

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
  })

  test('GET /admin/webhook-deliveries/:id returns a delivery of any tenant', async () => {
    const { status, json } = await api.get(`${DELIVERIES}/${madeId(1)}`)

    expect(status).toBe(200)
    expect(json).toMatchObject({ id: madeId(1), tenant: others.tenant, status: 'pending' })
    expect(json['attempts']).toHaveLength(1)
  })

  describe('POST /admin/webhook-deliveries/:id/redeliver', () => {
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

    test('is refused at a disabled endpoint, is recorded, and starts nothing', async () => {
      const endpoint = await makeEndpoint(sql, api.t.tenantId, 'disabled')
      const { id } = await makeDelivery(sql, endpoint)
      const before = await jobs()

      expectProblem(await api.post(`${DELIVERIES}/${id}/redeliver`), 'webhook-endpoint-disabled')

      expect(await jobs()).toBe(before)
      expect(await api.trailOf(id)).toMatchObject([
        { actor: 'alice', details: { refused: 'webhook-endpoint-disabled' } },
      ])
    })
  })
})
