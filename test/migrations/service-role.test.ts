// Tests what Postgres refuses to the API and the workers, independent of their code.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Store } from '../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../src/config.ts'
import { asTenant, inTenant } from '../../src/db/connection/transaction.ts'
import { openServiceStore } from '../support/service-store.ts'
import { makeTenant, reservationOf, reserve } from '../db/reservations.ts'
import { database, store as owner } from '../support/own-store.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

let service: Store
let tenantId: string
let paymentId: string

beforeAll(async () => {
  service = openServiceStore(database.url)
  tenantId = await makeTenant(owner)
  const reservation = reservationOf(tenantId)
  paymentId = reservation.paymentId
  await reserve(service.sql, reservation)
})
afterAll(() => service.close())

const capture = () => ({
  tenant_id: tenantId,
  id: randomUUID(),
  transaction_id: randomUUID(),
  kind: 'capture',
  payment_id: paymentId,
  operation_id: randomUUID(),
  debit: 'provider_receivable',
  credit: 'merchant_payable',
  amount_minor: 1999,
  currency: 'usd',
})

const post = (fields: Record<string, unknown> = {}) =>
  inTenant(service.sql, tenantId, async (tx) => {
    await tx`insert into ledger_postings ${tx({ ...capture(), ...fields })}`
  })

test('runs every connection of the service as its role, which has no login', async () => {
  const [row] = await service.sql`
    select current_user::text, rolcanlogin, rolsuper from pg_roles where rolname = current_user
  `

  expect(row).toEqual({ current_user: SERVICE_ROLE, rolcanlogin: false, rolsuper: false })
})

describe('the ledger', () => {
  test.each([
    ['an UPDATE', 'update ledger_postings set amount_minor = 1'],
    ['an UPDATE of no row', 'update ledger_postings set amount_minor = 1 where false'],
    ['a DELETE', 'delete from ledger_postings'],
    ['a TRUNCATE', 'truncate ledger_postings'],
    ['a TRUNCATE of a table that it refers to', 'truncate payments cascade'],
    ['a DROP', 'drop table ledger_postings'],
    ['a new column', 'alter table ledger_postings add column note text'],
    ['a dropped CHECK', 'alter table ledger_postings drop constraint ledger_postings_moves'],
  ])('is refused %s', async (_, statement) => {
    await post()
    const before = await owner.sql`select * from ledger_postings order by id`

    const refused = service.sql.unsafe(statement)

    await expect(refused).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE })
    expect(await owner.sql`select * from ledger_postings order by id`).toEqual(before)
  })

  test.each(['debit', 'credit', 'amount_minor'])('refuses a posting without %s', async (column) => {
    await expect(post({ [column]: null })).rejects.toMatchObject({ code: '23502' })
  })
})

test('lets the service write and delete only in these tables', async () => {
  const tables = await owner.sql<{ name: string; rights: string }[]>`
    select
      table_name as name,
      (
        select string_agg(lower(privilege_type), ' ' order by privilege_type)
        from information_schema.role_table_grants as granted
        where grantee = ${SERVICE_ROLE} and table_schema = 'public'
          and granted.table_name = tables.table_name
      ) as rights
    from information_schema.tables where table_schema = 'public'
  `

  const limited = tables.filter(({ rights }) => rights !== 'insert select update')
  expect(Object.fromEntries(limited.map(({ name, rights }) => [name, rights]))).toEqual({
    admin_actions: 'select',
    api_keys: 'select',
    console_sessions: 'delete insert select update',
    encryption_seals: 'insert select',
    events: 'select',
    idempotency_keys: 'delete insert select update',
    key_tombstones: 'delete insert select update',
    ledger_postings: 'select',
    phase_runs: 'select',
    provider_events: 'delete insert select update',
    reconciliation_seen: 'delete insert select update',
    retention_periods: 'select',
    service_processes: 'delete insert select update',
    tenants: 'select',
    webhook_attempts: 'insert select',
  })
})

test('lets the service insert tenants and API keys only in these columns', async () => {
  const granted = await owner.sql`
    select table_name as name, string_agg(column_name, ' ' order by column_name) as columns
    from information_schema.column_privileges
    where grantee = ${SERVICE_ROLE} and privilege_type = 'INSERT'
      and table_name in ('tenants', 'api_keys')
    group by table_name order by table_name
  `

  expect(granted).toEqual([
    { name: 'api_keys', columns: 'id prefix scopes secret_hash tenant_id' },
    { name: 'tenants', columns: 'id name' },
  ])
})

test('lets the service change the least length of keys, and nothing else of a tenant', async () => {
  const granted = await owner.sql`
    select table_name as name, column_name as column from information_schema.column_privileges
    where grantee = ${SERVICE_ROLE} and privilege_type = 'UPDATE'
      and table_name in ('tenants', 'api_keys')
  `

  expect(granted).toEqual([{ name: 'tenants', column: 'key_length_min' }])
})

test('lets the service end an API key permanently', async () => {
  const [key] = await owner.sql<{ id: string }[]>`
    select id from api_keys where tenant_id = ${tenantId}
  `
  const id = key?.id ?? ''
  const own = asTenant(service.sql, tenantId)
  const retire = (grace: string) => own`select retire_api_key(${id}, ${grace}) as done`
  const revoke = () => own`select revoke_api_key(${id}) as done`

  expect(await retire('1 hour')).toEqual([{ done: true }])
  expect(await retire('9 hours')).toEqual([{ done: null }])
  expect(await revoke()).toEqual([{ done: true }])
  expect(await revoke()).toEqual([{ done: null }])
  expect(await retire('9 hours')).toEqual([{ done: null }])
})

test.each([
  [
    'cannot insert a tenant with a fee',
    `insert into tenants (id, name, fee_fixed_minor) values ('${randomUUID()}', 'mine', 1)`,
  ],
  ['cannot change a fee', 'update tenants set fee_fixed_minor = 0'],
  ['cannot lift another limit', 'update tenants set max_active_keys = 0'],
  ['cannot enable a tenant', 'update tenants set disabled_at = null'],
  ['cannot delete a tenant', 'delete from tenants'],
  ['cannot revive an API key', 'update api_keys set revoked_at = null'],
  ['cannot prolong an API key', 'update api_keys set expires_at = null'],
  ['cannot add scopes to an API key', `update api_keys set scopes = '{*}'`],
  ['cannot change a secret', `update api_keys set secret_hash = '\\x00'`],
  ['cannot delete an API key', 'delete from api_keys'],
  ['cannot change the timeline', 'update phase_runs set attempt = 0'],
  ['cannot delete events', 'delete from events'],
  ['cannot delete payments', 'delete from payments'],
  ['cannot change how long history is kept', 'update retention_periods set days = 1'],
  ['cannot change the list of migrations', 'delete from drizzle.__drizzle_migrations'],
  ['cannot create a table', 'create table mine (id uuid)'],
  ['cannot create a table of pg-boss', 'create table atomic_jobs.mine (id uuid)'],
])('the service %s', async (_, statement) => {
  await expect(service.sql.unsafe(statement)).rejects.toMatchObject({
    code: INSUFFICIENT_PRIVILEGE,
  })
})
