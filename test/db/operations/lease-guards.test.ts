// Tests the writes of a worker on a real database: what they change while it owns the lease, and
// that they change nothing after it lost it.
import { describe, expect, test } from '@jest/globals'
import { findIdempotencyKey } from '../../../src/db/idempotency/idempotency-keys.ts'
import { renewIfOwner, type Claim } from '../../../src/db/operations/leases.ts'
import { RESPONSE_VERSION } from '../../../src/domain/operations/stored-response.ts'
import { advanceIfOwner, finishIfOwner } from '../../support/record-phase.ts'
import {
  claimedOperation,
  claimOrThrow,
  failed,
  finish,
  giveBack,
  LEASE_MS,
  letLeaseRunOut,
  makeTenant,
  pending,
  readRow,
  response,
  RETENTION_SECONDS,
  secondsAhead,
  unknown,
} from '../reservations.ts'
import { store } from '../../support/own-store.ts'

const advance = (claim: Claim, to = 'authorized') => advanceIfOwner(store.sql, claim, to, LEASE_MS)

describe('the writes of the owner', () => {
  test('advancing moves the recovery point, renews the lease and clears doubt', async () => {
    const lost = await claimedOperation(store)
    await letLeaseRunOut(store.sql, lost)
    const held = await claimOrThrow(store.sql, lost)

    expect(await advance(held)).toBe(true)

    const row = await readRow(store.sql, held)
    expect(row).toMatchObject({
      status: 'processing',
      recovery_point: 'authorized',
      lease_epoch: 2,
    })
    expect(row).toMatchObject({ in_doubt: false, last_error: null })
    expect(await secondsAhead(store.sql, row['lease_expires_at'])).toBeGreaterThan(
      LEASE_MS / 1_000 - 20,
    )
  })

  test('renewing changes only the expiry of the lease', async () => {
    const held = await claimedOperation(store)
    const { lease_expires_at: _, ...before } = await readRow(store.sql, held)

    expect(await renewIfOwner(store.sql, held, 2 * LEASE_MS)).toBe(true)

    const { lease_expires_at, ...after } = await readRow(store.sql, held)
    expect(after).toEqual(before)
    expect(await secondsAhead(store.sql, lease_expires_at)).toBeGreaterThan(LEASE_MS / 1_000)
  })

  test('finishing stores the exact bytes of the response, and restarts the retention', async () => {
    const held = await claimedOperation(store)
    const body = '{"text":"caf\u00E9 \\u0000 \u{1F4B3}", "n": 1.0}\n'
    await store.sql`
      update idempotency_keys set expires_at = now() - interval '1 hour'
      where tenant_id = ${held.tenantId} and id = ${held.id}
    `

    const finished = await finishIfOwner(store.sql, held, { ...response, body }, RETENTION_SECONDS)

    expect(finished).toBe(true)
    const row = await readRow(store.sql, held)
    expect(row).toMatchObject({ status: 'completed', recovery_point: 'finished' })
    expect(row).toMatchObject({ lease_expires_at: null, in_doubt: false, lease_epoch: 1 })
    expect(await secondsAhead(store.sql, row['expires_at'])).toBeGreaterThan(RETENTION_SECONDS - 20)
    const key = await findIdempotencyKey(store.sql, held.tenantId, String(row['key']))
    expect(key?.response).toEqual({ ...response, body, version: RESPONSE_VERSION })
  })

  test.each([pending, failed, unknown])('giving back to $status ends the lease', async (to) => {
    const held = await claimedOperation(store)

    expect(await giveBack(store, held, to)).toBe(true)

    expect(await readRow(store.sql, held)).toMatchObject({
      status: to.status,
      in_doubt: to.inDoubt,
      last_error: to.reason,
      lease_expires_at: null,
      lease_epoch: 1,
      recovery_point: 'started',
    })
  })
})

/** Each makes a claim one that does not own the operation any more. */
const losses: [string, (claim: Claim) => Promise<unknown>][] = [
  [
    'an earlier lease epoch',
    async (claim) => {
      await letLeaseRunOut(store.sql, claim)
      await claimOrThrow(store.sql, claim)
    },
  ],
  ['an earlier recovery point', (claim) => advance(claim)],
  ['an operation that was given back', (claim) => giveBack(store, claim, pending)],
  ['an operation that was completed', (claim) => finish(store, claim)],
  [
    'another tenant',
    async (claim) => void Object.assign(claim, { tenantId: await makeTenant(store) }),
  ],
]

const writes: [string, (fence: Claim) => Promise<boolean>][] = [
  ['advance', (fence) => advance(fence, 'captured')],
  ['finish', (fence) => finish(store, fence)],
  ['renew', (fence) => renewIfOwner(store.sql, fence, LEASE_MS)],
  ['give back', (fence) => giveBack(store, fence, pending)],
]

describe.each(losses)('with the lease of %s nothing is written:', (_, lose) => {
  test.each(writes)('%s', async (_write, write) => {
    const owner = await claimedOperation(store)
    const fence = { ...owner }
    await lose(fence)
    const before = await readRow(store.sql, owner)

    expect(await write(fence)).toBe(false)
    expect(await readRow(store.sql, owner)).toEqual(before)
  })
})
