// Operators see which unknown outcomes wait for a second operator, and until when.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { makeUnknown, shownId, startAdminApi, type AdminApi } from '../../support/admin.ts'
import type { Accepted } from '../../support/engine.ts'
import { until } from '../../support/until.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi({ ADMIN_DUAL_CONTROL: 'true' })
})
afterEach(() => api.t.provider.control('DELETE', '/faults'))
afterAll(() => api.stop())

const body = { outcome: 'did_not_happen', proof: 'the provider has no such payment: ticket 4711' }

const resolve = (ref: Accepted, operator: 'alice' | 'bob', sent: object = body) =>
  api.post(`/admin/operations/${shownId(ref)}/resolve`, sent, operator)

/** The proposals of the operation, on its own and in the list. They are the same. */
async function proposalOf(ref: Accepted): Promise<unknown> {
  const { json } = await api.get(`/admin/operations/${shownId(ref)}`)
  const list = (await api.get('/admin/operations?limit=100')).json['data'] as { id: string }[]
  const listed = list.find(({ id }) => id === shownId(ref))
  if (listed !== undefined) expect(listed).toMatchObject({ proposal: json['proposal'] })
  return json['proposal']
}

const waiting = async (): Promise<number> =>
  ((await api.get('/admin/operations?status=proposed')).json['data'] as unknown[]).length

test('a proposal waits a day for a second operator, and is counted', async () => {
  const ref = await makeUnknown(api)
  expect(await proposalOf(ref)).toBeNull()
  await resolve(ref, 'alice', { ...body, proof: 'a proof that alice replaced later' })
  await resolve(ref, 'alice')

  const proposal = (await proposalOf(ref)) as Record<string, string>
  expect(proposal).toMatchObject({ proposed_by: 'alice', proposed: body })
  const { proposed_at: at = '', expires_at: end = '' } = proposal
  expect(Date.parse(end) - Date.parse(at)).toBe(24 * 3_600_000)
  await until(async () => (await api.get('/admin/overview')).json['proposed'] === 1)
  expect(await waiting()).toBe(1)
})

test('a confirmed proposal waits again when the look-up fails, and no longer when it was made', async () => {
  // Those of other tests may become due meanwhile.
  await api.t.engine.store.sql`update idempotency_keys set next_check_at = null`
  const ref = await makeUnknown(api)
  const before = await waiting()
  await resolve(ref, 'alice')
  await resolve(ref, 'bob')
  expect(await proposalOf(ref)).toBeNull()
  expect(await waiting()).toBe(before)

  const match = { method: 'GET', path: '/v1/payment_intents' }
  await api.t.provider.addFault({ match, fault: 'hang_before', times: 99 })
  await resolveDue(api.t.engine)
  expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown', evidence: null })
  expect(await proposalOf(ref)).toMatchObject({ proposed_by: 'alice', proposed: body })

  await api.t.provider.control('DELETE', '/faults')
  expect(await resolve(ref, 'bob')).toMatchObject({ json: { object: 'operation' } })
  await resolveDue(api.t.engine)
  expect(await api.t.readKey(ref)).toMatchObject({ status: 'completed' })
  expect(await proposalOf(ref)).toBeNull()
  expect(await waiting()).toBe(before)
})

test.each([
  ['too old', `happened_at = now() - interval '25 hours'`],
  ['of a doubt before this one', `happened_at = now() - interval '1 hour'`],
])('a proposal that is %s does not wait', async (_, change) => {
  const ref = await makeUnknown(api)
  const before = await waiting()
  await resolve(ref, 'alice')
  await api.t.engine.store.sql.unsafe(
    `update admin_actions set ${change} where subject = '${shownId(ref)}'`,
  )

  expect(await proposalOf(ref)).toBeNull()
  expect(await waiting()).toBe(before)
})
