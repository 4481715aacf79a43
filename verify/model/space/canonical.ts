// Two stores that nobody can tell apart are one: what no statement reads is left out, ids that were drawn by chance are
// named by what they are of, moments by what they are before or after, and lease epochs by whether they are current.
import { ownerOf } from '../programs/ids.ts'
import { KEY_WINDOW_SECONDS, LEASE_SECONDS, RETENTION_SECONDS } from '../programs/settings.ts'
import type { Change, Database, Work } from '../store/database.ts'
import { toText, type Row, type Value } from '../store/rows.ts'
import { keyOfRow, type Schema } from '../store/schema.ts'
import { OPERATIONS_QUEUE } from '../../../src/db/queue/queues.ts'

/** Tables that no statement of the model's programs reads what these write. */
const UNREAD_TABLES = new Set(['events', 'webhook_deliveries', 'provider_events'])

/** The epoch of an operation that has been claimed: all before it are over. */
export const CURRENT_EPOCH = 1

/** What a committed change has meant for the programs that hold something of an operation. */
export interface Canonical {
  readonly database: Database
  /** Keys whose operations have a new lease epoch: all others are over. */
  readonly keysWithNewEpoch: readonly number[]
  /** Keys whose operations have a new job: the one before is none of theirs any more. */
  readonly keysWithNewJob: readonly number[]
}

/** A row without what tells nothing; undefined when nothing is left. */
export function canonicalRow(table: string, row: Row): Row | undefined {
  if (UNREAD_TABLES.has(table)) return undefined
  switch (table) {
    case 'idempotency_keys':
      return {
        ...row,
        ...canonicalKey(row),
        ...(row['status'] === 'completed' ? COMPLETED_COLUMNS : {}),
      }
    case 'phase_runs':
      return row['reached'] === null ? undefined : { ...row, ...CANONICAL_RUN }
    case 'pgboss.job':
      return row['name'] === OPERATIONS_QUEUE ? canonicalJob(row) : undefined
    case 'ledger_postings':
      return { ...row, transaction_id: row['operation_id'] ?? null, created_at: 0 }
    case 'reconciliation_findings':
      return { ...row, ours: null, theirs: null, note: null, opened_at: 0 }
    case 'key_tombstones':
      return { ...row, expired_at: 0 }
    case 'payments':
    case 'refunds':
      return { ...row, ...canonicalResource(row) }
    default:
      return row
  }
}

function canonicalKey(row: Row): Row {
  const [lease, began, expires] = ['lease_expires_at', 'phase_began_at', 'expires_at'].map(
    (name) => row[name] ?? null,
  )
  const { earlier = null } = row
  return {
    created_at: 0,
    finished_at: row['finished_at'] === null ? null : 0,
    last_error: null,
    lease_expires_at: lease === null ? null : Number(lease) > 0 ? LEASE_SECONDS : -1,
    phase_began_at:
      began === null ? null : Number(began) > -KEY_WINDOW_SECONDS ? 0 : -KEY_WINDOW_SECONDS,
    expires_at: Number(expires) > 0 ? RETENTION_SECONDS : (expires ?? null),
    earlier: earlier === null ? null : { ...(earlier as Row), expired_at: 0 },
  }
}

/** The status before the present one is told only by a change, which names both. */
function canonicalResource({ status, previous_status = null }: Row): Row {
  const previous = status === 'processing' ? null : previous_status
  return { previous_status: previous, created_at: 0, updated_at: 0 }
}

/** What a completed operation has tried is of no use to anybody. */
const COMPLETED_COLUMNS: Row = {
  attempts: 0,
  phase_began_at: null,
  unknown_at: null,
  in_doubt: false,
}

const CANONICAL_RUN: Row = {
  attempt: 0,
  lease_epoch: 0,
  outcome: null,
  asked: null,
  answered: null,
  started_at: 0,
  recorded_at: 0,
}

function canonicalJob({ id = null, name = null, data = null }: Row): Row {
  return { id, name, data, state: 'created', blocked: false, priority: 0 }
}

/** What an open transaction has done, without what tells nothing. */
export function canonicalWork({ changes, locks, pending }: Work): Work {
  return {
    changes: canonicalChanges(changes),
    locks: locks.filter(({ table }) => !UNREAD_TABLES.has(table) && table !== 'tenants'),
    pending: canonicalChanges(pending),
  }
}

function canonicalChanges(changes: readonly Change[]): Change[] {
  return changes.flatMap((change): Change[] => {
    if (change.row === null) return [change]
    const row = canonicalRow(change.table, change.row)
    return row === undefined ? [] : [{ ...change, row }]
  })
}

/**
 * @param before what was committed until now.
 * @param attemptsMax beyond so many claims of an operation nobody counts any more.
 */
export function canonicalDatabase(
  schema: Schema,
  after: Database,
  before: Database,
  attemptsMax: number,
): Canonical {
  const keys = after['idempotency_keys'] ?? []
  const keysWithNewEpoch: number[] = []
  const keysWithNewJob: number[] = []
  for (const row of keys) {
    const { key } = ownerOf(toText(row['id']))
    const known = before['idempotency_keys']?.find(({ id }) => id === row['id'])
    if (known === undefined) continue
    const epochBefore = Number(known['lease_epoch'])
    if (Number(row['lease_epoch']) > epochBefore && epochBefore > 0) keysWithNewEpoch.push(key)
    if (row['job_id'] !== known['job_id']) keysWithNewJob.push(key)
  }
  const database: Record<string, readonly Row[]> = {}
  for (const [table, rows] of Object.entries(after)) {
    const canonicalRows = rows.flatMap((row) => {
      const known = canonicalRow(table, row)
      return known === undefined ? [] : [known]
    })
    const named =
      table === 'pgboss.job' ? nameJobs(canonicalRows, keys) : nameRows(table, canonicalRows)
    const tableSchema = schema.get(table)
    if (tableSchema === undefined) throw new Error(`there is no table ${table}`)
    const withTokens =
      table === 'idempotency_keys' ? named.map((row) => canonicalKeyToken(row, attemptsMax)) : named
    database[table] = sortByKey(withTokens, (row) => keyOfRow(tableSchema, row))
  }
  return { database, keysWithNewEpoch, keysWithNewJob }
}

function canonicalKeyToken(row: Row, attemptsMax: number): Row {
  const epoch = Math.min(Number(row['lease_epoch']), CURRENT_EPOCH)
  const attempts = Math.min(Number(row['attempts']), attemptsMax)
  return { ...row, job_id: currentJobOf(toText(row['id'])), lease_epoch: epoch, attempts }
}

/** The job that the row of an operation names, and any other. */
export const currentJobOf = (operationId: string): string => `${operationId} current`
export const oldJobOf = (operationId: string): string => `${operationId} old`

/** Several old jobs of an operation do what one of them does. */
function nameJobs(jobs: readonly Row[], keys: readonly Row[]): Row[] {
  return jobs.map((job) => {
    const { operationId } = job['data'] as { readonly operationId: string }
    const isCurrent = keys.some(({ id, job_id }) => id === operationId && job_id === job['id'])
    return { ...job, id: isCurrent ? currentJobOf(operationId) : oldJobOf(operationId) }
  })
}

/** Names rows by what they say; the second of two that say the same is the second. */
function nameRows(table: string, rows: readonly Row[]): Row[] {
  const naming = NAMING_COLUMNS[table]
  if (naming === undefined) return [...rows]
  const times = new Map<string, number>()
  return rows.map((row) => {
    const name = naming.map((column) => toText(row[column])).join('/')
    const count = (times.get(name) ?? 0) + 1
    times.set(name, count)
    return { ...row, id: count === 1 ? name : `${name}#${count}` }
  })
}

const NAMING_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  phase_runs: ['operation_id', 'reached'],
  ledger_postings: ['operation_id', 'kind', 'debit', 'credit'],
  reconciliation_findings: ['kind', 'object_id'],
}

function sortByKey(rows: readonly Row[], keyOf: (row: Row) => string): Row[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]))
  return [...byKey.keys()].toSorted().map((key) => byKey.get(key) as Row)
}

/** A row with all columns of its table, null where nothing is given. */
export function fullRow(
  schema: Schema,
  table: string,
  values: Readonly<Record<string, Value>>,
): Row {
  const columns = schema.get(table)?.columns ?? []
  const nothing = columns.map(({ name }) => [name, null])
  return { ...(Object.fromEntries(nothing) as Row), ...values }
}
