// Tests that nothing is executed without its transaction: `begin` leaves with the first statements, and
// the server may refuse it. A relay makes it a word that the server does not know.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Store, Transaction } from '../../../src/db/connection/client.ts'
import { inService, inTenant } from '../../../src/db/connection/transaction.ts'
import { addJobs, RECONCILIATIONS_QUEUE } from '../../../src/db/queue/jobs.ts'
import { openServiceStore } from '../../support/service-store.ts'
import { makeTenant } from '../reservations.ts'
import { database, store as owner } from '../../support/own-store.ts'

let service: Store
let relay: Server
let tenantId: string
let refusesBegin = false

beforeAll(async () => {
  tenantId = await makeTenant(owner)
  const upstreamPort = Number(new URL(database.url).port)
  relay = createServer((client) => {
    const upstream = connect(upstreamPort, '127.0.0.1')
    client
      .on('error', () => {})
      .on('data', (bytes: Buffer) => {
        const text = bytes.toString('latin1')
        upstream.write(
          Buffer.from(refusesBegin ? text.replace('begin;', 'bogus;') : text, 'latin1'),
        )
      })
    upstream.on('error', () => {}).pipe(client)
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as AddressInfo
  service = openServiceStore(Object.assign(new URL(database.url), { port: String(port) }).href)
  await service.sql`select 1`
})

afterAll(async () => {
  refusesBegin = false
  await service.close()
  relay.close()
})

async function refused(work: () => Promise<unknown>): Promise<void> {
  refusesBegin = true
  try {
    await expect(work()).rejects.toMatchObject({ code: '42601' })
  } finally {
    refusesBegin = false
  }
}

test('a transaction of a tenant writes nothing', async () => {
  await refused(() =>
    inTenant(service.sql, tenantId, async (tx) => {
      await tx`
        insert into webhook_endpoints (tenant_id, id, url, event_types, secret, slot)
        values (${tenantId}, gen_random_uuid(), 'https://example.com', array['*'], 'secret', 1)
      `
    }),
  )

  expect(await owner.sql`select from webhook_endpoints where tenant_id = ${tenantId}`).toHaveLength(
    0,
  )
})

test('a transaction of the service writes nothing, also into tables without tenants', async () => {
  await refused(() =>
    inService(service.sql, async (tx: Transaction) => {
      await addJobs(tx, RECONCILIATIONS_QUEUE, [{ data: { runId: 'refused' } }])
    }),
  )

  const jobs = await owner.sql`select from atomic_jobs.job where data ->> 'runId' = 'refused'`
  expect(jobs).toHaveLength(0)
})

test('the connection serves the next transaction', async () => {
  await refused(() => inService(service.sql, (tx) => tx`select 1`))

  expect(await inService(service.sql, (tx) => tx`select 1 as one`)).toEqual([{ one: 1 }])
})
