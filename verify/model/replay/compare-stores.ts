// Renders the model's store and the PostgreSQL store as comparable text: everything that statements
// base decisions on. Ids are replaced by the rows that they refer to, and timestamps by their order
// relative to now.
import type { Sql } from '../../../src/db/connection/client.ts'
import { toText, isObject, type Row, type Value } from '../store/rows.ts'
import type { Database } from '../store/database.ts'
import { KEY_WINDOW_SECONDS } from '../programs/settings.ts'

/** More claims than the model counts. */
const ATTEMPTS_MAX = 3

export function describeDatabase(database: Database): string {
  return render(Object.fromEntries(TABLES.map((table) => [table, database[table] ?? []])), () => 0)
}

export async function describePostgres(sql: Sql): Promise<string> {
  const [tables] = await sql.unsafe<[Tables]>(`select ${TABLES.map(rowsOf).join()}`)
  const now = Date.now()
  return render(tables, () => now)
}

const rowsOf = (table: string): string =>
  `(select coalesce(jsonb_agg(to_jsonb(own)), '[]') from ${table} as own) as "${table}"`

const TABLES = [
  'idempotency_keys',
  'payments',
  'refunds',
  'phase_runs',
  'ledger_postings',
  'key_tombstones',
  'reconciliation_findings',
  'atomic_jobs.job',
]

type Tables = Readonly<Record<string, readonly Row[]>>

function render(tables: Tables, now: () => number): string {
  const keys = (tables['idempotency_keys'] ?? []).toSorted((one, other) =>
    toText(one['key']) < toText(other['key']) ? -1 : 1,
  )
  const keyLines = keys.map((row) => renderKey(tables, row, now()))
  const tombstones = tables['key_tombstones']?.length ?? 0
  const findings = (tables['reconciliation_findings'] ?? []).map(
    ({ kind, status }) => `${toText(kind)} ${toText(status)}`,
  )
  const amounts = (tables['payments'] ?? []).map(
    (row) =>
      `${toText(row['status'])} ${Number(row['amount_captured_minor'])} ${Number(row['amount_refunding_minor'])} ${Number(row['amount_refunded_minor'])}`,
  )
  return [
    ...keyLines,
    `tombstones ${tombstones}`,
    ...findings.toSorted(),
    ...amounts.toSorted(),
  ].join('\n')
}

function renderKey(tables: Tables, row: Row, now: number): string {
  const isOwn = ({ operation_id }: Row) => operation_id === row['id']
  const reached = (tables['phase_runs'] ?? [])
    .filter((run) => isOwn(run) && run['reached'] !== null)
    .map((run) => toText(run['reached']))
  const posted = (tables['ledger_postings'] ?? [])
    .filter(isOwn)
    .map(
      ({ debit, credit, amount_minor }) =>
        `${toText(debit)}/${toText(credit)} ${Number(amount_minor)}`,
    )
  const refund = (tables['refunds'] ?? []).find(({ id }) => id === row['refund_id'])
  const jobs = (tables['atomic_jobs.job'] ?? []).filter(({ data, name }) => {
    const about = isObject(data ?? null) ? (data as Row) : {}
    return name === 'operations' && about['operationId'] === row['id']
  })
  const isDone = row['status'] === 'completed'
  const isCurrent = jobs.some(({ id }) => id === row['job_id'])
  return JSON.stringify({
    key: row['key'],
    status: row['status'],
    point: row['recovery_point'],
    attempts: isDone ? 0 : Math.min(Number(row['attempts']), ATTEMPTS_MAX),
    doubt: row['in_doubt'],
    lease: pastOrFuture(row['lease_expires_at'], now),
    phase:
      isDone || isNull(row['phase_began_at'])
        ? null
        : secondsOf(row['phase_began_at'], now) > -KEY_WINDOW_SECONDS + 1,
    unknown: isNull(row['unknown_at']) ? null : roundedSeconds(row['unknown_at'], now),
    check: isNull(row['next_check_at']) ? null : roundedSeconds(row['next_check_at'], now),
    expires: pastOrFuture(row['expires_at'], now),
    answer: row['response_status'],
    earlier: !isNull(row['earlier']),
    reached: reached.toSorted(),
    posted: posted.toSorted(),
    refund: refund?.['status'] ?? null,
    jobs: [isCurrent, jobs.some(({ id }) => id !== row['job_id'])],
  })
}

const isNull = (value: Value | undefined): boolean => value === null || value === undefined

/** Whether a timestamp is in the future or in the past. */
function pastOrFuture(value: Value | undefined, now: number): string | null {
  if (isNull(value)) return null
  return secondsOf(value, now) > 0 ? 'future' : 'past'
}

/** A replay takes a few seconds, so timestamps are rounded. */
const TOLERANCE_SECONDS = 5

const roundedSeconds = (value: Value | undefined, now: number): number =>
  Math.round(secondsOf(value, now) / TOLERANCE_SECONDS / 2)

function secondsOf(value: Value | undefined, now: number): number {
  return typeof value === 'number' ? value : (Date.parse(toText(value)) - now) / 1_000
}
