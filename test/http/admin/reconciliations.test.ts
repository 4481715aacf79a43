// Operators request reconciliations of a period, and resolve the findings.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openFindings } from '../../../src/db/reconciliation/findings.ts'
import { parseId, showId } from '../../../src/domain/resource-id.ts'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi()
})

afterAll(() => api.stop())

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

test('reconciliations are listed newest first', async () => {
  const older = await api.post('/admin/reconciliations', windowOf(3))
  const newer = await api.post('/admin/reconciliations', windowOf(4))

  const first = await api.get('/admin/reconciliations?limit=1')
  const next = await api.get(
    `/admin/reconciliations?limit=1&starting_after=${String(newer.json['id'])}`,
  )

  expect(first.json).toMatchObject({ data: [newer.json], has_more: true })
  expect(next.json).toMatchObject({ data: [older.json] })
})

test('returns 404 for an unknown reconciliation or finding', async () => {
  for (const id of [showId('rec', randomUUIDv7()), 'op_1', 'x']) {
    expectProblem(await api.get(`/admin/reconciliations/${id}`), 'resource-not-found')
    expectProblem(await api.get(`/admin/findings/${id}`), 'resource-not-found')
    expectProblem(
      await api.post(`/admin/findings/${id}/resolve`, { note: 'x' }),
      'resource-not-found',
    )
  }
})

test('a finding has its evidence, and is resolved once by a named operator', async () => {
  const run = await api.post('/admin/reconciliations', windowOf(5))
  const runId = parseId('rec', String(run.json['id'])) ?? ''
  const about = { provider: 'stripe', kind: 'amount_differs', runId } as const
  const ref = await api.t.accept()
  await openFindings(api.t.engine.store.sql, [
    { ...about, objectId: 'pi_1', subject: ref, ours: { amount: 1 }, theirs: { amount: 2 } },
  ])
  // Ids created within a millisecond have no order.
  await api.t.engine.store.sql`
    update reconciliation_findings set id = '01900000-0000-7000-8000-000000000000'
    where object_id = 'pi_1'
  `
  await openFindings(api.t.engine.store.sql, [
    { ...about, objectId: 'pi_2', subject: null, ours: null, theirs: { amount: 3 } },
  ])

  const path = `/admin/reconciliations/${String(run.json['id'])}`
  const first = await api.get(`${path}?limit=1`)
  const page = first.json['findings'] as { data: { id: string }[]; has_more: boolean }
  const next = await api.get(`${path}?starting_after=${page.data[0]?.id}`)
  const finding = (next.json['findings'] as typeof page).data[0]
  const single = await api.get(`/admin/findings/${finding?.id}`)
  const resolve = `/admin/findings/${finding?.id}/resolve`
  const resolvedFinding = await api.post(resolve, { note: 'refunded by hand' })
  const again = await api.post(resolve, { note: 'me too' }, 'bob')
  const query = `reconciliation=${String(run.json['id'])}`

  expect(page).toMatchObject({ data: [{ about: 'pi_2' }], has_more: true })
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
