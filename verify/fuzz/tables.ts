// Computes a digest of each table, to detect any change. Lists the tables that may change without a
// request's effect, each with the reason.
import type { Store } from '../../src/db/connection/client.ts'
import { problems } from '../../src/domain/problems/problems.ts'

interface Exception {
  readonly table: RegExp
  /** The rows that are still checked. Without it, none are. */
  readonly where?: string
  readonly reason: string
}

export const exceptions: readonly Exception[] = [
  {
    table: /^public\.rate_limits$/,
    reason: 'It counts all requests, including refused ones.',
  },
  {
    table: /^public\.key_replays$/,
    reason: 'It counts the requests that use a key again, including refused ones.',
  },
  {
    table: /^public\.admin_actions$/,
    reason: 'Each operator command adds a row; these rows are checked one by one.',
  },
  {
    table: /^public\.service_processes$/,
    reason: 'Each process reports itself there.',
  },
  {
    table: /^atomic_jobs\.(job|job_common|j[0-9a-f]{56})$/,
    where: `name not in ('maintenance', '__pgboss__send-it')`,
    reason: 'Scheduled maintenance adds jobs, independent of requests.',
  },
  {
    table: /^atomic_jobs\.(queue|version|schedule|bam|warning|queue_stats(_\d+)?)$/,
    reason: 'pg-boss updates its own bookkeeping on a schedule.',
  },
]

/** Digests by table name. */
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

/** The differences, as sentences. */
export function compareTables(before: Tables, after: Tables): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names
    .filter((name) => before.get(name) !== after.get(name))
    .map(
      (name) => `${name} was ${before.get(name) ?? 'not there'}, is ${after.get(name) ?? 'gone'}`,
    )
}

/** The id of the newest operator action, if there is one. */
export async function lastActionId({ sql }: Store): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from admin_actions order by id desc limit 1`
  return row?.id
}

/** Operator actions after this id that record anything other than a refusal and its reason. */
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
        or subject !~ '^(op|tnt|key|fnd|we|wd)_[0-9a-z]{26}$'
      )
    limit 3
  `
  return rows.map(({ line }) => `admin_actions has ${line}`)
}
