// What stands in the database, in a few digits for each table: whatever lands anywhere changes them. Tables
// that change for a reason of their own are named here, with the reason.
import type { Store } from '../../src/db/connection/client.ts'
import { problems } from '../../src/domain/problems/problems.ts'

interface Exception {
  readonly table: RegExp
  /** What of it counts all the same; without it nothing does. */
  readonly where?: string
  readonly reason: string
}

export const exceptions: readonly Exception[] = [
  {
    table: /^public\.rate_limits$/,
    reason: 'It counts requests, and those that are refused are requests.',
  },
  {
    table: /^public\.admin_actions$/,
    reason: 'Each command of an operator leaves a line: these are read one by one.',
  },
  {
    table: /^pgboss\.(job|job_common|j[0-9a-f]{56})$/,
    where: `name not in ('maintenance', '__pgboss__send-it')`,
    reason: 'The clock puts in maintenance, whether anybody asks for anything or not.',
  },
  {
    table: /^pgboss\.(queue|version|schedule|bam|warning|queue_stats(_\d+)?)$/,
    reason: 'The books that pg-boss keeps of its own queues, by the clock.',
  },
]

/** The digest of each table, by its name. */
export type Tables = ReadonlyMap<string, string>

export async function digestTables({ sql }: Store): Promise<Tables> {
  const known = await sql<{ name: string; quoted: string }[]>`
    select n.nspname || '.' || c.relname as name, c.oid::regclass::text as quoted
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname !~ '^(pg_|information_schema)'
    order by 1
  `
  const queries = known.flatMap(({ name, quoted }) => {
    const exception = exceptions.find(({ table }) => table.test(name))
    if (exception !== undefined && exception.where === undefined) return []
    const where = exception?.where ?? 'true'
    return [
      `select '${name}' as name, count(*) || ' rows, ' ||
        coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') as digest
      from ${quoted} t where ${where}`,
    ]
  })
  const rows = await sql.unsafe<{ name: string; digest: string }[]>(queries.join(' union all '))
  return new Map(rows.map(({ name, digest }) => [name, digest]))
}

/** What is different, in sentences. */
export function compareTables(before: Tables, after: Tables): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names
    .filter((name) => before.get(name) !== after.get(name))
    .map(
      (name) => `${name} was ${before.get(name) ?? 'not there'}, is ${after.get(name) ?? 'gone'}`,
    )
}

/** The last line of the operators' trail; undefined when there is none. */
export async function lastActionId({ sql }: Store): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from admin_actions order by id desc limit 1`
  return row?.id
}

/** Lines of the trail after that one which say more than that somebody was refused, and why. */
export async function findUnexpectedActions(
  { sql }: Store,
  after: string | undefined,
): Promise<string[]> {
  const types = Object.keys(problems)
  const rows = await sql<{ line: string }[]>`
    select row_to_json(admin_actions)::text as line from admin_actions
    where id > ${after ?? '00000000-0000-0000-0000-000000000000'}
      and (
        actor <> 'admin' or details - 'refused' <> '{}'::jsonb
        or not coalesce(details ->> 'refused' = any(${types}), false)
        or subject !~ '^(op|tnt|key|fnd)_[0-9a-z]{26}$'
      )
    limit 3
  `
  return rows.map(({ line }) => `admin_actions has ${line}`)
}
