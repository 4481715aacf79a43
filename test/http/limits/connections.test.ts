// The limit on connections.
import { beforeEach, expect, test } from '@jest/globals'
import { limitedApi } from '../../support/for-file.ts'
import type { ServedApi } from '../../support/served-api.ts'
import type { Tenant } from '../../support/service.ts'
import { lockTable, untilWaitingForLock } from '../rude-clients/locked-keys.ts'
import { paymentBytes, sendRaw } from '../rude-clients/raw-connection.ts'

const limited = limitedApi()
let tenant: Tenant

beforeEach(async () => {
  tenant = await limited.createTenant()
})

/** Serves an API with this maximum of connections. */
const serveMost = (most: number): Promise<ServedApi> =>
  limited.serve({ MAX_CONNECTIONS: String(most) })

const keysOf = ({ id }: Tenant) =>
  limited.store.sql`select key from idempotency_keys where tenant_id = ${id}`

test('beyond the limit a new connection is closed, and those before stay', async () => {
  const api = await serveMost(1)
  const { locked, release } = await lockTable(limited)
  const paying = await sendRaw(api.url, paymentBytes(tenant, 'first'))
  await untilWaitingForLock(limited)

  const other = await sendRaw(api.url, paymentBytes(tenant, 'other'))
  expect(await other.untilClosed()).toEqual([])
  release()
  await locked
  const [answer] = await paying.untilAnswered(1)
  paying.socket.destroy()

  expect(answer?.status).toBe(202)
  expect(await keysOf(tenant)).toEqual([{ key: 'first' }])
})
