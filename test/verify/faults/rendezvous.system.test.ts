// Real sessions on a real database. The rendezvous is one of them.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { localOperations } from '../../../src/domain/operations/operation.ts'
import { Environment } from '../../../verify/faults/environment.ts'
import type { Lane } from '../../../verify/faults/lane.ts'
import { expire, rendezvous } from '../../../verify/faults/contention.ts'
import { faultPrograms } from '../../support/programs.ts'

let environment: Environment
let lane: Lane
let service: Store

beforeAll(async () => {
  environment = await Environment.create(faultPrograms())
  lane = await environment.startLane({ standbys: [] })
  service = openStore({
    url: lane.options.server.url(lane.options.name),
    applicationName: 'atomic-payments test',
    poolSize: 2,
    timeoutMs: 30_000,
  })
})

afterAll(async () => {
  await service.close()
  await environment.remove()
})

test('sessions that want the row of an operation wait for each other, and go on together', async () => {
  const { id: tenantId } = await lane.createTenant()
  await insertOperation(tenantId)
  const touch = () =>
    service.sql`update idempotency_keys set last_error = 'touched' where tenant_id = ${tenantId}`
  const done: string[] = []
  const come: Promise<unknown>[] = []

  const haveMet = await rendezvous(
    { lane, tenantId },
    2,
    async () => {
      come.push(...[1, 2].map(() => touch().then(() => done.push('went on'))))
      await Promise.resolve()
    },
    () => done.push('met'),
  )
  await Promise.all(come)

  expect(haveMet).toBe(true)
  expect(done).toEqual(['met', 'went on', 'went on'])
})

test('starts no session when no operation is open', async () => {
  const { id: tenantId } = await lane.createTenant()
  let hasBegun = false

  const haveMet = await rendezvous({ lane, tenantId }, 1, async () => void (hasBegun = true))

  expect({ haveMet, hasBegun }).toEqual({ haveMet: false, hasBegun: false })
})

test('setting the expiry of a key is not recorded as a move', async () => {
  const { id: tenantId } = await lane.createTenant()
  await insertOperation(tenantId)
  const read = () => lane.owner.sql`
    select expires_at < now() as "isExpired",
      (select count(*)::int from fault_suite_moves where tenant_id = ${tenantId}) as moves
    from idempotency_keys where tenant_id = ${tenantId}
  `
  const [before] = await read()
  await expire({ lane, tenantId }, '-1 second')

  expect(before).toMatchObject({ isExpired: false, moves: 1 })
  expect(await read()).toMatchObject([{ isExpired: true, moves: 1 }])
})

/** An operation that no worker, sweeper, reaper or outcome resolver touches by itself. */
async function insertOperation(tenantId: string): Promise<void> {
  await lane.owner.sql`
    insert into idempotency_keys (tenant_id, id, key, fingerprint, operation, status, in_doubt, unknown_at, expires_at)
    values (
      ${tenantId}, gen_random_uuid(), 'key', '', ${localOperations[0]}, 'unknown', true, now(),
      now() + interval '1 hour'
    )
  `
}
