// Tests that requests go on while a batch of the reaper is not committed: it holds its locks, and no
// reservation, retry, lookup or claim waits for them.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import type { Sql } from '../../src/db/connection/client.ts'
import { deleteExpiredKeys } from '../../src/recovery/reaper.ts'
import { claimIfUnowned } from '../support/claim.ts'
import { get, paymentBody, post, postPayment } from '../support/client.ts'
import { expireKeys } from '../support/expired-keys.ts'
import { limitedApi, tenantOf } from '../support/for-file.ts'
import { finishIfOwner } from '../support/record-phase.ts'

// A statement that waited for the batch would end with 503.
const api = limitedApi({ STORE_TIMEOUT_MS: '2000' })
const tenant = tenantOf(api)

const ENDPOINT = { url: 'https://example.com/hook', event_types: ['*'] }

const refOf = async (key: string) => {
  const [row] = await api.store.sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  return { tenantId: tenant.id, id: row?.id ?? '' }
}

/** A payment whose operation is completed. */
async function completed(): Promise<string> {
  const key = randomUUID()
  const { text: body } = await postPayment(api.url, tenant, paymentBody(), { key })
  const claim = await claimIfUnowned(api.store.sql, await refOf(key), 60_000)
  if (claim === undefined) throw new Error('the operation was not claimed')
  const headers = { 'content-type': 'application/json' }
  await finishIfOwner(api.store.sql, claim, { status: 201, headers, body }, 86_400)
  return key
}

test('reservations, retries, lookups and claims go on during a batch of the reaper', async () => {
  const { sql } = api.store
  const [deleted, kept] = [await completed(), await completed()]
  await expireKeys(sql, await refOf(deleted))

  const goneOn = await sql.begin(async (tx) => {
    const own = { begin: (work: (inner: typeof tx) => unknown) => work(tx) }
    const batch = new Proxy(tx, {
      get: (target, name) => Reflect.get(name === 'begin' ? own : target, name) as unknown,
    }) as unknown as Sql
    expect(await deleteExpiredKeys(batch, 100)).toBe(1)

    const key = randomUUID()
    const answers = [
      await postPayment(api.url, tenant, paymentBody(), { key }),
      await post(api.url, tenant, '/v1/webhook-endpoints', ENDPOINT),
      await postPayment(api.url, tenant, paymentBody(), { key: kept }),
      await postPayment(api.url, tenant, paymentBody(), { key: deleted }),
      await get(api.url, tenant, `/v1/idempotency-keys/${deleted}`),
    ]
    const claim = await claimIfUnowned(api.parts.store.sql, await refOf(key), 60_000)
    return { claim, answers }
  })

  expect(goneOn.answers.map(({ status }) => status)).toEqual([202, 201, 201, 201, 200])
  const replays = goneOn.answers.map(({ headers }) => headers.get('idempotent-replayed'))
  expect(replays).toEqual([null, null, 'true', 'true', null])
  expect(goneOn.claim).toBeDefined()
})
