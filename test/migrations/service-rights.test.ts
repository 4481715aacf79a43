// Holds the rights of the service role against the statements of src: each right has a statement
// that needs it, and each statement has the rights that it needs.
import { expect, test } from '@jest/globals'
import { examples } from '../../verify/statements/examples.ts'
import { findNeededRights } from './needed-rights.ts'
import { SERVICE_ROLE } from '../../src/config.ts'
import { store as owner } from '../support/own-store.ts'

/** Each right on a table, on a column, on a function: `insert payments`, `insert events.id`. */
async function readGranted(): Promise<string[]> {
  const rows = await owner.sql<{ right: string }[]>`
    select lower(privilege_type) || ' ' || table_name as right
    from information_schema.role_table_grants
    where grantee = ${SERVICE_ROLE} and table_schema = 'public'
    union
    select lower(privilege_type) || ' ' || table_name || '.' || column_name
    from information_schema.column_privileges as granted
    where grantee = ${SERVICE_ROLE} and table_schema = 'public' and not exists (
      select from information_schema.role_table_grants as whole
      where whole.grantee = granted.grantee and whole.table_schema = granted.table_schema
        and whole.table_name = granted.table_name
        and whole.privilege_type = granted.privilege_type
    )
    union
    select 'execute ' || proname from pg_proc
    where pronamespace = 'public'::regnamespace
      and has_function_privilege(${SERVICE_ROLE}, oid, 'execute')
    order by 1
  `
  return rows.map(({ right }) => right)
}

async function readNames(query: string): Promise<ReadonlySet<string>> {
  const rows = await owner.sql.unsafe<{ name: string }[]>(query)
  return new Set(rows.map(({ name }) => name))
}

/** Called by functions of the database, or by nothing, and without effect. */
const HARMLESS = [
  'first_id_at',
  'first_id_of_place',
  'id_lock',
  'idempotency_keys_rules',
  'ledger_postings_rules',
  'payments_rules',
  'place_of_id',
  'refunds_rules',
  'refuse_row',
  'retention_ends',
]

test('each right of the service role has a statement that needs it, and no statement lacks one', async () => {
  const tables = await readNames(`
    select table_name as name from information_schema.tables where table_schema = 'public'
  `)
  const functions = await readNames(`
    select proname as name from pg_proc where pronamespace = 'public'::regnamespace
  `)
  const needed = await findNeededRights(examples, tables, functions)
  const granted = await readGranted()

  const isUsed = (right: string) =>
    [...needed.keys()].some(
      (need) => need === right || need.startsWith(`${right}.`) || need === asLock(right),
    )
  const isGranted = (need: string) => {
    const table = need.replace(/\..*/, '').replace(/^lock /, 'update ')
    return granted.includes(need) || granted.includes(table)
  }
  const unneeded = granted.filter((right) => !isUsed(right))
  const lacking = [...needed.keys()].filter((need) => !isGranted(need))

  expect(needed.get('delete console_sessions')).toContain('recordLogOut')
  expect(needed.size).toBeGreaterThan(300)
  expect(lacking).toEqual([])
  expect(unneeded).toEqual(HARMLESS.map((name) => `execute ${name}`))
})

const asLock = (right: string): string => right.replace(/^update /, 'lock ')
