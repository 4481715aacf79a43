// Operators have windows compared, and close what the comparison has put before them.
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

test('a comparison is asked for once, with its job and its line of the trail', async () => {
  const asked = await api.post('/admin/reconciliations', windowOf(1))
  const again = await api.post('/admin/reconciliations', windowOf(1), 'bob')
  const id = String(asked.json['id'])
  const shown = await api.get(`/admin/reconciliations/${id}`)
  const { count } = await api.t.engine.store.sql`
    select from pgboss.job where name = 'reconciliations' and data ->> 'runId' = ${parseId('rec', id) ?? ''}
  `

  expect(asked).toMatchObject({
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
  expect(again.json).toEqual(asked.json)
  expect(shown).toMatchObject({
    status: 200,
    json: { ...asked.json, findings: { object: 'list', data: [], has_more: false } },
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

test('comparisons are listed, newest first', async () => {
  const older = await api.post('/admin/reconciliations', windowOf(3))
  const newer = await api.post('/admin/reconciliations', windowOf(4))

  const first = await api.get('/admin/reconciliations?limit=1')
  const next = await api.get(
    `/admin/reconciliations?limit=1&starting_after=${String(newer.json['id'])}`,
  )

  expect(first.json).toMatchObject({ data: [newer.json], has_more: true })
  expect(next.json).toMatchObject({ data: [older.json] })
})

test('a comparison that is not there is a 404', async () => {
  for (const id of [showId('rec', randomUUIDv7()), 'op_1', 'x']) {
    expectProblem(await api.get(`/admin/reconciliations/${id}`), 'resource-not-found')
    expectProblem(
      await api.post(`/admin/findings/${id}/resolve`, { note: 'x' }),
      'resource-not-found',
    )
  }
})

test('a finding is shown with its evidence, and closed once, by name', async () => {
  const run = await api.post('/admin/reconciliations', windowOf(5))
  const runId = parseId('rec', String(run.json['id'])) ?? ''
  const about = { provider: 'stripe', kind: 'amount_differs', runId } as const
  const ref = await api.t.accept()
  await openFindings(api.t.engine.store.sql, [
    { ...about, objectId: 'pi_1', subject: ref, ours: { amount: 1 }, theirs: { amount: 2 } },
  ])
  // Ids that are made within a millisecond are in no order.
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
  const resolve = `/admin/findings/${finding?.id}/resolve`
  const closed = await api.post(resolve, { note: 'refunded by hand' })
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
  expect(closed).toMatchObject({
    status: 200,
    json: { status: 'resolved', resolved_by: 'alice', note: 'refunded by hand' },
  })
  expectProblem(again, 'finding-not-open')
  const open = await api.get(`/admin/findings?status=open&${query}`)
  const resolved = await api.get(`/admin/findings?status=resolved&${query}`)
  expect(open.json).toMatchObject({ data: [{ about: 'pi_2' }] })
  expect(resolved.json['data']).toEqual([closed.json])
  expect(await api.trailOf(String(finding?.id))).toEqual([
    {
      actor: 'alice',
      action: 'finding.resolve',
      details: { result: 'resolved', note: 'refunded by hand' },
    },
    { actor: 'bob', action: 'finding.resolve', details: { refused: 'finding-not-open' } },
  ])
})
