// The second wall between tenants, as Postgres keeps it: what a statement sees and may write depends on the tenants
// that it names, whatever its own predicates say or have forgotten.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  openStore,
  type Fragment,
  type Sql,
  type Store,
} from '../../../src/db/connection/client.ts'
import {
  seesEveryTenant,
  seesTenant,
  seesTenants,
} from '../../../src/db/connection/row-security.ts'
import { SERVICE_ROLE } from '../../../src/db/migrations/service-role.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { makeTenant, openTestStore, reservationOf, reserve } from '../reservations.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

/** Tables of nobody in particular: operators' work, and what the service keeps for itself. */
const OF_NO_TENANT = [
  'admin_actions',
  'finished_key_burials',
  'rate_limits',
  'reconciliation_runs',
  'reconciliation_seen',
]

let database: TestDatabase
let owner: Store
let service: Store
let mine: string
let theirs: string

beforeAll(async () => {
  database = await createTestDatabase()
  owner = openTestStore(database.url, 1)
  service = openService()
  mine = await makeTenantWithPayment()
  theirs = await makeTenantWithPayment()
})
afterAll(async () => {
  await service.close()
  await owner.close()
  await database.drop()
})

function openService(): Store {
  return openStore({
    url: database.url,
    applicationName: 'test service',
    poolSize: 1,
    timeoutMs: 20_000,
    role: SERVICE_ROLE,
  })
}

async function makeTenantWithPayment(): Promise<string> {
  const tenantId = await makeTenant(owner)
  await reserve(service.sql, reservationOf(tenantId))
  return tenantId
}

/** Whose payments a statement sees that has forgotten its own predicate. */
async function ownersSeen(sees: Fragment | undefined, { sql }: Store = service): Promise<string[]> {
  const rows = await sql<{ tenant_id: string }[]>`
    select distinct tenant_id from payments where ${sees ?? sql`true`} order by tenant_id
  `
  return rows.map((row) => row.tenant_id)
}

describe('every table of tenants', () => {
  interface Walled {
    table: string
    walled: boolean
    policies: string[]
  }
  const readTables = () => owner.sql<Walled[]>`
    select
      relname as table, relrowsecurity and relforcerowsecurity as walled,
      array(
        select concat_ws(' ', polname, polcmd, pg_get_expr(polqual, polrelid))
        from pg_policy where polrelid = pg_class.oid
      ) as policies
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> all (${OF_NO_TENANT}::text[])
    order by relname
  `

  test('is behind the wall, its owner being no exception, by one and the same policy', async () => {
    const tables = await readTables()
    const policyOf = ({ table, policies }: Walled) =>
      policies.map((policy) =>
        table === 'tenants' ? policy.replace('(id =', '(tenant_id =') : policy,
      )

    expect(tables.map(({ table }) => table)).toContain('finished_keys')
    expect(tables.filter(({ walled }) => !walled)).toEqual([])
    expect(new Set(tables.map((table) => policyOf(table).join('; '))).size).toBe(1)
  })

  test('shows nothing to a statement that names no tenant', async () => {
    for (const { table } of await readTables()) {
      const [row] = await service.sql`select count(*)::int as seen from ${service.sql(table)}`

      expect({ table, ...row }).toEqual({ table, seen: 0 })
    }
  })
})

test('the service cannot go round the wall', async () => {
  const [role] = await service.sql`
    select rolsuper, rolbypassrls from pg_roles where rolname = current_user
  `

  expect(role).toEqual({ rolsuper: false, rolbypassrls: false })
  const off = service.sql`set row_security = off`.then(() => ownersSeen(undefined))
  await expect(off).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE })
  await service.sql`reset row_security`
})

describe('a statement', () => {
  test('sees the tenant that it names, and no other', async () => {
    expect(await ownersSeen(seesTenant(service.sql, mine))).toEqual([mine])
    expect(await ownersSeen(seesTenant(service.sql, theirs))).toEqual([theirs])
  })

  test('sees each of several tenants, and all of them when it says so', async () => {
    const both = [{ tenantId: mine }, { tenantId: theirs }, { tenantId: mine }]

    expect(await ownersSeen(seesTenants(service.sql, both))).toEqual([mine, theirs])
    expect(await ownersSeen(seesTenants(service.sql, []))).toEqual([])
    expect(await ownersSeen(seesEveryTenant(service.sql))).toEqual([mine, theirs])
  })

  test('leaves nothing of it to the next one on the connection', async () => {
    expect(await ownersSeen(seesEveryTenant(service.sql))).toEqual([mine, theirs])
    expect(await ownersSeen(undefined)).toEqual([])
  })

  test('has its tenants named before anything is read, whatever the plan is', async () => {
    const plans: ((sql: Sql) => Promise<unknown>)[] = [
      (sql) => sql`set enable_hashjoin = off`,
      (sql) => sql`set enable_nestloop = off`,
      (sql) => sql`set enable_indexscan = off`,
      (sql) => sql`set enable_seqscan = off`,
      (sql) => sql`set enable_sort = off`,
      (sql) => sql`set plan_cache_mode = force_generic_plan`,
      (sql) => sql`set plan_cache_mode = force_custom_plan`,
    ]
    for (const change of plans) {
      await change(service.sql)
      const { sql } = service
      const rows = await sql`
        with paid as (update payments set updated_at = now() returning *)
        select events.tenant_id, count(*)::int as joined
        from events
        join paid on paid.tenant_id = events.tenant_id and paid.id = events.payment_id
        join idempotency_keys as key
          on key.tenant_id = paid.tenant_id and key.payment_id = paid.id
        join tenants on tenants.id = key.tenant_id
        where ${seesTenant(sql, mine)}
        group by events.tenant_id
      `

      expect(rows.map((row) => ({ ...row }))).toEqual([{ tenant_id: mine, joined: 1 }])
      await sql`reset all`
      await sql`set role ${sql(SERVICE_ROLE)}`
    }
  })

  test('changes and deletes nothing of a tenant that it does not name', async () => {
    const { sql } = service
    const changed = await sql`
      update payments set description = 'mine now' where ${seesTenant(sql, mine)}
        and tenant_id = ${theirs}
    `
    const deleted = await sql`
      delete from idempotency_keys where ${seesTenant(sql, mine)} and tenant_id = ${theirs}
    `

    expect([changed.count, deleted.count]).toEqual([0, 0])
  })

  test('neither adds a row for a tenant that it does not name nor hands one over', async () => {
    const { sql } = service
    const added = sql`
      insert into key_tombstones (tenant_id, key_hash, expired_at)
      select ${theirs}::uuid, sha256('a'), now() where ${seesTenant(sql, mine)}
    `
    await expect(added).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE })
    const handedOver = sql`update payments set tenant_id = ${theirs} where ${seesTenant(sql, mine)}`
    await expect(handedOver).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE })
  })
})

test('whoever owns the tables, and is no superuser, is behind the wall as well', async () => {
  const { sql } = owner
  // Roles are the whole cluster's.
  const other = sql(`owner_${randomBytes(6).toString('hex')}`)
  await sql`create role ${other}`
  try {
    await sql`alter table payments owner to ${other}`
    await sql`set role ${other}`

    expect(await ownersSeen(undefined, owner)).toEqual([])
    expect(await ownersSeen(seesTenant(sql, mine), owner)).toEqual([mine])
  } finally {
    await sql`reset role`
    await sql`alter table payments owner to current_user`
    await sql`drop role ${other}`
  }
})
