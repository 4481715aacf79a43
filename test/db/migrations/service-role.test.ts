// What Postgres refuses the API and the workers, whatever their code says.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { seesTenant } from '../../../src/db/connection/row-security.ts'
import { SERVICE_ROLE } from '../../../src/db/migrations/service-role.ts'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { makeTenant, openTestStore, reservationOf, reserve } from '../reservations.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

let database: TestDatabase
let owner: Store
let service: Store
let tenantId: string
let paymentId: string

beforeAll(async () => {
  database = await createTestDatabase()
  owner = openTestStore(database.url, 1)
  service = openStore({
    url: database.url,
    applicationName: 'test service',
    poolSize: 2,
    timeoutMs: 20_000,
    role: SERVICE_ROLE,
  })
  tenantId = await makeTenant(owner)
  const reservation = reservationOf(tenantId)
  paymentId = reservation.paymentId
  await reserve(service.sql, reservation)
})
afterAll(async () => {
  await service.close()
  await owner.close()
  await database.drop()
})

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
  inTransaction(service.sql, async (tx) => {
    await tx`select ${seesTenant(tx, tenantId)}`
    await tx`insert into ledger_postings ${tx({ ...capture(), ...fields })}`
  })

test('every connection of the service works as its role, which nobody can log in as', async () => {
  const [row] = await service.sql`
    select current_user::text, rolcanlogin, rolsuper from pg_roles where rolname = current_user
  `

  expect(row).toEqual({ current_user: SERVICE_ROLE, rolcanlogin: false, rolsuper: false })
})

describe('the ledger', () => {
  test('takes a posting, and with it stays in balance', async () => {
    await post()

    await expectLedgerBalanced(owner)
  })

  test.each([
    ['an UPDATE', 'update ledger_postings set amount_minor = 1'],
    ['an UPDATE of nothing', 'update ledger_postings set amount_minor = 1 where false'],
    ['a DELETE', 'delete from ledger_postings'],
    ['a TRUNCATE', 'truncate ledger_postings'],
    ['a TRUNCATE of what it points at', 'truncate payments cascade'],
    ['a DROP', 'drop table ledger_postings'],
    ['a new column', 'alter table ledger_postings add column note text'],
    ['a CHECK taken away', 'alter table ledger_postings drop constraint ledger_postings_moves'],
  ])('is refused %s', async (_, statement) => {
    await post()
    const before = await owner.sql`select * from ledger_postings order by id`

    const refused = service.sql.unsafe(statement)

    await expect(refused).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE })
    expect(await owner.sql`select * from ledger_postings order by id`).toEqual(before)
  })

  test.each([
    ['of zero', { amount_minor: 0 }, 'ledger_postings_moves'],
    ['of a negative amount', { amount_minor: -1 }, 'ledger_postings_moves'],
    ['from an account to itself', { debit: 'fees', credit: 'fees' }, 'ledger_postings_moves'],
    ['to an account that is none', { debit: 'pocket' }, 'ledger_postings_debit'],
    ['from an account that is none', { credit: 'pocket' }, 'ledger_postings_credit'],
    ['of no kind', { kind: 'gift' }, 'ledger_postings_kind'],
    ['of a refund that it does not name', { kind: 'refund' }, 'ledger_postings_refund_named'],
  ])('takes no posting %s', async (_, fields, constraint) => {
    await expect(post(fields)).rejects.toMatchObject({ code: '23514', constraint_name: constraint })
  })

  test.each(['debit', 'credit', 'amount_minor'])(
    'takes no posting with one side only: no %s',
    async (column) => {
      await expect(post({ [column]: null })).rejects.toMatchObject({ code: '23502' })
    },
  )

  test('takes a movement of an operation once', async () => {
    const operation_id = randomUUID()
    await post({ operation_id })

    await expect(post({ operation_id })).rejects.toMatchObject({
      constraint_name: 'ledger_postings_once',
    })
  })
})

test('the service may write every table of ours, but for these', async () => {
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

  const limited = tables.filter(({ rights }) => rights !== 'delete insert select update')
  expect(Object.fromEntries(limited.map(({ name, rights }) => [name, rights]))).toEqual({
    admin_actions: 'insert select',
    api_keys: 'select',
    tenants: 'select',
    webhook_attempts: 'insert select',
    events: 'insert select',
    ledger_postings: 'insert select',
    phase_runs: 'insert select',
  })
})

test('the service makes tenants and API keys for operators, in these columns alone', async () => {
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

test('the service ends an API key, once and for good', async () => {
  const [key] = await owner.sql<{ id: string }[]>`
    select id from api_keys where tenant_id = ${tenantId}
  `
  const id = key?.id ?? ''
  const retire = (grace: string) => service.sql`select retire_api_key(${id}, ${grace}) as done`
  const revoke = () => service.sql`select revoke_api_key(${id}) as done`

  expect(await retire('1 hour')).toEqual([{ done: true }])
  expect(await retire('9 hours')).toEqual([{ done: null }])
  expect(await revoke()).toEqual([{ done: true }])
  expect(await revoke()).toEqual([{ done: null }])
  expect(await retire('9 hours')).toEqual([{ done: null }])
})

test.each([
  [
    'makes no tenant with a fee',
    `insert into tenants (id, name, fee_fixed_minor) values ('${randomUUID()}', 'mine', 1)`,
  ],
  ['changes no fee', 'update tenants set fee_fixed_minor = 0'],
  ['enables no tenant', 'update tenants set disabled_at = null'],
  ['removes no tenant', 'delete from tenants'],
  ['revives no API key', 'update api_keys set revoked_at = null'],
  ['prolongs no API key', 'update api_keys set expires_at = null'],
  ['gives no API key further scopes', `update api_keys set scopes = '{*}'`],
  ['changes no secret', `update api_keys set secret_hash = '\\x00'`],
  ['removes no API key', 'delete from api_keys'],
  ['edits no timeline', 'update phase_runs set attempt = 0'],
  ['takes no event back', 'delete from events'],
  ['forges no migration', 'delete from drizzle.__drizzle_migrations'],
  ['makes no table', 'create table mine (id uuid)'],
  ['makes no table of jobs', 'create table pgboss.mine (id uuid)'],
])('the service %s', async (_, statement) => {
  await expect(service.sql.unsafe(statement)).rejects.toMatchObject({
    code: INSUFFICIENT_PRIVILEGE,
  })
})
