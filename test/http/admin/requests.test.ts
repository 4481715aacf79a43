// Reconciliations of a period, the resolution of findings, and the removal of a stored response.
import { describe, expect, test } from '@jest/globals'
import { openFindings } from '../../../src/db/operations/findings.ts'
import { paymentPath } from '../../../src/domain/payments/payment.ts'
import { problems } from '../../../src/domain/problems/problems.ts'
import { parseId, showId } from '../../../src/domain/resource-id.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import {
  type AdminApi,
  makeCompleted,
  makeFailed,
  makeUnknown,
  shownId,
} from '../../support/admin.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import { adminApi } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = adminApi({ WEBHOOK_ALLOW_INSECURE: 'true' })

test('every problem that only operators get says that nothing was changed', () => {
  const own = [
    'nothing-to-resume',
    'operation-not-unknown',
    'second-operator-needed',
    'key-window-passed',
  ] as const
  for (const type of own) expect(problems[type].meaning).toMatch(/Nothing was changed/)
})

const windowOf = (day: number) => ({
  from: `2026-01-0${day}T00:00:00Z`,
  to: `2026-01-0${day + 1}T01:00:00+01:00`,
})

test('a reconciliation is requested once, with a job and an entry in the audit trail', async () => {
  const requested = await api.post('/admin/reconciliations', windowOf(1))
  const again = await api.post('/admin/reconciliations', windowOf(1), 'bob')
  const id = String(requested.json['id'])
  const read = await api.get(`/admin/reconciliations/${id}`)
  const { count } = await api.t.engine.store.sql`
    select from atomic_jobs.job where name = 'reconciliations' and data ->> 'runId' = ${parseId('rec', id) ?? ''}
  `

  expect(requested).toMatchObject({
    status: 202,
    json: {
      object: 'reconciliation',
      provider: 'stripe',
      status: 'pending',
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-02T00:00:00.000Z',
      requested_by: 'alice',
      counts: {},
      finished_at: null,
    },
  })
  expect(again.json).toEqual(requested.json)
  expect(read).toMatchObject({
    status: 200,
    json: { ...requested.json, findings: { object: 'list', data: [], has_more: false } },
  })
  expect(count).toBe(1)
  const window = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }
  expect(await api.trailOf(id)).toEqual([
    {
      actor: 'alice',
      action: 'reconciliation.request',
      details: { result: 'requested', ...window },
    },
    { actor: 'bob', action: 'reconciliation.request', details: { result: 'under_way', ...window } },
  ])
})

test('a finding has its evidence, and is resolved once by a named operator', async () => {
  const run = await api.post('/admin/reconciliations', windowOf(5))
  const runId = parseId('rec', String(run.json['id'])) ?? ''
  const about = { provider: 'stripe', kind: 'amount_differs', runId } as const
  const ref = await api.t.accept()
  await openFindings(api.t.engine.store.sql, [
    { ...about, objectId: 'pi_1', subject: ref, ours: { amount: 1 }, theirs: { amount: 2 } },
  ])
  await openFindings(api.t.engine.store.sql, [
    { ...about, objectId: 'pi_2', subject: null, ours: null, theirs: { amount: 3 } },
  ])

  const { json } = await api.get(`/admin/reconciliations/${String(run.json['id'])}`)
  const page = json['findings'] as { data: { id: string; about: string }[] }
  const finding = page.data.find((one) => one.about === 'pi_1')
  const single = await api.get(`/admin/findings/${finding?.id}`)
  const resolve = `/admin/findings/${finding?.id}/resolve`
  const resolvedFinding = await api.post(resolve, { note: 'refunded by hand' })
  const again = await api.post(resolve, { note: 'me too' }, 'bob')
  const query = `reconciliation=${String(run.json['id'])}`

  expect(page).toMatchObject({ data: [{}, {}], has_more: false })
  expect(finding).toMatchObject({
    object: 'finding',
    kind: 'amount_differs',
    status: 'open',
    about: 'pi_1',
    tenant: showId('tnt', ref.tenantId),
    payment: showId('pay', ref.paymentId),
    reconciliation: run.json['id'],
    ours: { amount: 1 },
    theirs: { amount: 2 },
  })
  expect(single.json).toEqual(finding)
  expect(resolvedFinding).toMatchObject({
    status: 200,
    json: { status: 'resolved', resolved_by: 'alice', note: 'refunded by hand' },
  })
  expectProblem(again, 'finding-not-open')
  const open = await api.get(`/admin/findings?status=open&${query}`)
  const resolved = await api.get(`/admin/findings?status=resolved&${query}`)
  expect(open.json).toMatchObject({ data: [{ about: 'pi_2' }] })
  expect(resolved.json['data']).toEqual([resolvedFinding.json])
  expect(await api.trailOf(String(finding?.id))).toEqual([
    {
      actor: 'alice',
      action: 'finding.resolve',
      details: { result: 'resolved', note: 'refunded by hand' },
    },
    { actor: 'bob', action: 'finding.resolve', details: { refused: 'finding-not-open' } },
  ])
})

describe('the removal of a response', () => {
  const path = (id: string) => `/admin/idempotency-keys/${id}/response`

  const tenant = () => ({ id: api.t.tenantId, apiKey: api.t.apiKey })

  async function findKey(key: string): Promise<{ tenantId: string; id: string }> {
    const [row] = await api.t.engine.store.sql<{ tenantId: string; id: string }[]>`
    select tenant_id as "tenantId", id from idempotency_keys where key = ${key}
  `
    if (row === undefined) throw new Error('no such key')
    return row
  }

  test('a retry gets response-dropped instead of the old response, and executes nothing', async () => {
    const key = 'to-be-dropped'
    const body = paymentBody()
    await postPayment(api.url, tenant(), body, { key })
    const ref = await findKey(key)
    await runOperation(api.t.engine, ref)
    const first = await postPayment(api.url, tenant(), body, { key })
    expect(first.status).toBe(201)
    const executed = (await api.t.provider.executed()).length

    const dropped = await api.remove(path(showId('op', ref.id)))
    const retried = await postPayment(api.url, tenant(), body, { key })
    const again = await api.remove(path(showId('op', ref.id)), 'bob')
    const retriedAgain = await postPayment(api.url, tenant(), body, { key })

    expect(dropped).toMatchObject({ status: 204, text: '' })
    expectProblem(retried, 'response-dropped')
    const location = first.headers.get('location')
    expect(retried.headers.get('location')).toBe(location)
    expect(retried.headers.get('idempotent-replayed')).toBe('true')
    expect(retried.json).toMatchObject({ location, error: { code: 'response_dropped' } })
    expect(again.status).toBe(204)
    expect(retriedAgain.text).toBe(retried.text)
    expect((await api.t.provider.executed()).length).toBe(executed)
    expect(await api.trailOf(showId('op', ref.id))).toEqual([
      { actor: 'alice', action: 'response.drop', details: { result: 'dropped' } },
      { actor: 'bob', action: 'response.drop', details: { result: 'already_dropped' } },
    ])
  })

  test('the secret of a webhook endpoint is neither replayed any more nor in the audit trail', async () => {
    const key = 'with-a-secret'
    const body = { url: 'http://127.0.0.1:9/hooks' }
    const first = await post(api.url, tenant(), '/v1/webhook-endpoints', body, { key })
    const secret = String(first.json['secret'])
    const ref = await findKey(key)

    await api.remove(path(showId('op', ref.id)))
    const retried = await post(api.url, tenant(), '/v1/webhook-endpoints', body, { key })
    const [secretCounts] = await api.t.engine.store.sql`
    select
      (select count(*)::int from idempotency_keys where to_jsonb(idempotency_keys)::text like ${`%${secret}%`})
        as keys,
      (select count(*)::int from admin_actions where details::text like ${`%${secret}%`}) as actions
  `

    expect(secret).toMatch(/^whsec_/)
    expectProblem(retried, 'response-dropped')
    expect(retried.json['location']).toBe(first.headers.get('location'))
    expect(retried.text).not.toContain(secret)
    expect(secretCounts).toEqual({ keys: 0, actions: 0 })
  })

  test('the location of a response without one is its payment', async () => {
    const ref = await makeCompleted(api)
    await api.t.engine.store.sql`
    update idempotency_keys set response_headers = response_headers - 'location' where id = ${ref.id}
  `
    await api.remove(path(shownId(ref)))

    expect(await api.t.readKey(ref)).toMatchObject({
      status: 'completed',
      response_status: 410,
      response_headers: { location: paymentPath(ref.paymentId) },
    })
  })

  test.each([
    ['is pending', (a: AdminApi) => a.t.accept()],
    ['is unknown', makeUnknown],
    ['has failed', makeFailed],
  ])('no response is dropped of an operation that %s', async (_, make) => {
    const ref = await make(api)
    const before = await api.t.readKey(ref)

    expectProblem(await api.remove(path(shownId(ref))), 'operation-not-completed')
    expect(await api.t.readKey(ref)).toEqual(before)
    expect(await api.trailOf(shownId(ref))).toEqual([
      { actor: 'alice', action: 'response.drop', details: { refused: 'operation-not-completed' } },
    ])
  })
})
