// Tests that the owner of the database, who is no superuser, can back it up and restore it, as
// docs/runbook.md says, and that a restored key still replays its answer.
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import postgres from 'postgres'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import type { EmbeddedPostgres } from '../../dev/embedded-postgres/postgres.ts'
import { paymentBody, post, postPayment } from '../support/client.ts'
import { runTool, startPostgres15, testOnPostgres15 } from '../support/debian-postgres.ts'
import { startService } from '../support/service.ts'

/** As the runbook shows it. */
const SEES_ALL = { PGOPTIONS: '-c atomic.tenants=*' }

async function createOwned(server: EmbeddedPostgres, owner: string): Promise<string> {
  const admin = postgres(server.url('postgres'), { max: 1 })
  await admin.unsafe(`create role ${owner} login createrole password 'secret'`)
  await admin.unsafe(`create database ${owner} owner ${owner}`)
  await admin.end()
  const own = { username: owner, password: 'secret' }
  return Object.assign(new URL(server.url(owner)), own).href
}

async function countRows(url: string): Promise<Record<string, number>> {
  const sql = postgres(url, { max: 1, connection: { options: '-c atomic.tenants=*' } })
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('public', 'drizzle') order by 1
  `
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await sql.unsafe<{ count: number }[]>(`select count(*)::int from ${name}`)
    counts[name] = row?.count ?? 0
  }
  await sql.end()
  return counts
}

testOnPostgres15('an owner who is no superuser backs up and restores everything', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-test-backup-'))
  await chmod(folder, 0o755)
  const server = await startPostgres15(join(folder, 'postgres'))
  const url = await createOwned(server, 'shop')
  const restoredUrl = await createOwned(server, 'restored')
  const file = join(folder, 'backup')
  await migrateDatabase(url)
  const service = await startService({}, url)
  const tenant = await service.createTenant()
  const key = randomUUID()
  const paid = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  expect(paid.status).toBe(201)
  const path = `/v1/payments/${String(paid.json['id'])}/refunds`
  expect((await post(service.apiUrl, tenant, path, {})).status).toBe(201)

  const dump = ['--enable-row-security', '--format=custom', '--no-owner', '--no-privileges']
  await runTool('pg_dump', [...dump, `--file=${file}`, url], SEES_ALL)
  const restore = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction']
  await runTool('pg_restore', [...restore, `--dbname=${restoredUrl}`, file])
  await migrateDatabase(restoredUrl, { role: 'restored_service' })

  const counts = await countRows(restoredUrl)
  expect(counts).toEqual(await countRows(url))
  expect(counts).toMatchObject({ 'public.payments': 1, 'public.refunds': 1, 'public.tenants': 1 })
  const { url: restoredApi } = await service.startApi({
    DATABASE_URL: restoredUrl,
    DATABASE_SERVICE_ROLE: 'restored_service',
  })
  const replayed = await postPayment(restoredApi, tenant, paymentBody(), { key })
  expect([replayed.status, replayed.text]).toEqual([201, paid.text])
  await service.stop()
  await server.stop('immediate')
  await rm(folder, { recursive: true })
})
