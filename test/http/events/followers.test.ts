// A program that follows a list by cursor sees every entry, in whatever order transactions end.
import { expect, test } from '@jest/globals'
import { asService } from '../../../src/db/connection/transaction.ts'
import { get, paymentBody, post, postPayment } from '../../support/client.ts'
import { forFile } from '../../support/for-file.ts'
import { startReceiver } from '../../support/receiver.ts'
import { service, tenant as tenantOfFile } from '../../support/shared-service.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { makePayment } from '../payments.ts'

const receiver = forFile(startReceiver)

interface Shown {
  readonly id: string
  readonly type?: string
}

/** Reads what is new since the cursor, the oldest first, as a program does that follows a list. */
function follow(path: string, owner: Tenant) {
  const seen: Shown[] = []
  const readNew = async (): Promise<Shown[]> => {
    const cursor = seen.at(-1)?.id
    const after = cursor === undefined ? '' : `&ending_before=${cursor}`
    const { status, json } = await get(service.apiUrl, owner, `${path}?limit=100${after}`)
    expect(status).toBe(200)
    const fresh = (json['data'] as Shown[]).toReversed()
    seen.push(...fresh)
    return json['has_more'] === true ? [...fresh, ...(await readNew())] : fresh
  }
  return { seen, readNew }
}

async function listAll(path: string, owner: Tenant): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const after = ids.length === 0 ? '' : `&starting_after=${ids.at(-1)}`
    const { json } = await get(service.apiUrl, owner, `${path}?limit=100${after}`)
    ids.push(...(json['data'] as Shown[]).map(({ id }) => id))
    if (json['has_more'] !== true) return ids.toReversed()
  }
}

const subscribe = async (owner: Tenant, eventTypes: string[]) => {
  const body = { url: receiver.url, event_types: eventTypes }
  const { status, json } = await post(service.apiUrl, owner, '/v1/webhook-endpoints', body)
  expect(status).toBe(201)
  return String(json['id'])
}

/** Keeps rows locked while it runs, and returns when a statement of the service waits for them. */
async function whileLocked(
  lock: string,
  owner: Tenant,
  { begin, meanwhile }: { begin: () => Promise<unknown>; meanwhile: () => Promise<void> },
): Promise<void> {
  await service.store.sql.begin(async (tx) => {
    await tx`select set_config('atomic.tenants', '*', true)`
    const { count } = await tx.unsafe(lock, [owner.id])
    expect(count).toBe(1)
    const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await begin()
    await until(async () => {
      const [row] = await service.store.sql`
        select exists (
          select from pg_stat_activity where ${own?.pid ?? 0} = any(pg_blocking_pids(pid))
        ) as waits
      `
      return row?.['waits'] === true
    })
    await meanwhile()
  })
}

test('an event whose change waited for a row has its place after those that were seen meanwhile', async () => {
  const owner = await service.createTenant()
  const held = await makePayment(service, owner, 'requires_capture')
  const followed = follow('/v1/events', owner)
  await followed.readNew()
  let capture: Promise<unknown> | undefined

  await whileLocked('select from payments where tenant_id = $1 for update', owner, {
    begin: async () => {
      capture = post(service.apiUrl, owner, `/v1/payments/${held.id}/capture`)
    },
    meanwhile: async () => {
      await postPayment(service.apiUrl, owner)
      expect((await followed.readNew()).map(({ type }) => type)).toContain('payment.succeeded')
    },
  })
  await capture
  await followed.readNew()

  expect(followed.seen.map(({ id }) => id)).toEqual(await listAll('/v1/events', owner))
  expect(followed.seen.filter(({ type }) => type === 'payment.succeeded')).toHaveLength(2)
})

test.each(['/v1/events', '/v1/webhook-deliveries'])(
  '%s shows nothing that is newer than an entry whose transaction has not ended',
  async (path) => {
    const owner = await service.createTenant()
    await subscribe(owner, ['payment.created'])
    await postPayment(service.apiUrl, owner)
    // Its answer may be a 202: then its last event is still to come.
    await until(async () => (await succeeded(owner)) === 1)
    // The delivery to this endpoint waits for its row, when the event has its id.
    const locked = await subscribe(owner, ['payment.requires_capture'])
    const followed = follow(path, owner)
    await followed.readNew()
    const manual = paymentBody({ capture_method: 'manual' })
    const headers = { prefer: 'respond-async' }
    let shown: Shown[] = []

    await whileLocked(
      `select from webhook_endpoints
       where tenant_id = $1 and event_types = '{payment.requires_capture}' for update`,
      owner,
      {
        begin: () => postPayment(service.apiUrl, owner, manual, { headers }),
        meanwhile: async () => {
          await postPayment(service.apiUrl, owner, paymentBody(), { headers })
          shown = await followed.readNew()
        },
      },
    )
    await until(async () => {
      await followed.readNew()
      return (await deliveriesTo(locked, owner)) === 1 && (await succeeded(owner)) === 2
    })
    await followed.readNew()

    // At most what the first of the two payments had written before: it is shown if that was earlier by
    // the 16 ms in which the lock of an entry counts.
    expect(shown.length).toBeLessThanOrEqual(1)
    expect(followed.seen.map(({ id }) => id)).toEqual(await listAll(path, owner))
  },
)

const deliveriesTo = async (endpoint: string, owner: Tenant): Promise<number> => {
  const path = `/v1/webhook-deliveries?endpoint=${endpoint}`
  const { json } = await get(service.apiUrl, owner, path)
  return (json['data'] as unknown[]).length
}

const succeeded = async (owner: Tenant): Promise<number> => {
  const { json } = await get(service.apiUrl, owner, '/v1/events?type=payment.succeeded')
  return (json['data'] as unknown[]).length
}

const CLIENTS = 12
/** Of each client. */
const PAYMENTS = 4

test('fast followers of each list see every entry while many clients write', async () => {
  const owner = tenantOfFile
  await subscribe(owner, ['*'])
  await postPayment(service.apiUrl, owner)
  const paths = ['/v1/events', '/v1/webhook-deliveries', '/v1/ledger/transactions']
  const followers = paths.map((path) => follow(path, owner))
  let isOver = false
  const following = followers.map(async ({ readNew }) => {
    for (;;) {
      const wasOver = isOver
      await readNew()
      if (wasOver) return
    }
  })

  const clients = Array.from({ length: CLIENTS }, async () => {
    for (let number = 0; number < PAYMENTS; number += 1) await postPayment(service.apiUrl, owner)
  })
  await Promise.all(clients)
  await until(() => isIdle(owner))
  isOver = true
  await Promise.all(following)

  for (const [index, { seen }] of followers.entries()) {
    const all = await listAll(paths[index] ?? '', owner)
    expect(all.length).toBeGreaterThan(CLIENTS * PAYMENTS)
    expect(seen.map(({ id }) => id)).toEqual(all)
  }
})

const isIdle = async ({ id }: Tenant): Promise<boolean> => {
  const [row] = await asService(service.store.sql)<{ unfinished: number }[]>`
    select count(*)::int as unfinished from idempotency_keys
    where tenant_id = ${id} and status <> 'completed'
  `
  return row?.unfinished === 0
}
