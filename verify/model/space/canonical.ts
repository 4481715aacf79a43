// Maps every store to a canonical one, so that stores which no program can distinguish become equal
// and the state space is finite. Columns that no statement reads are cleared, generated ids are
// named after what they identify, timestamps are reduced to their order relative to the thresholds,
// and lease epochs to current or stale.
import { keyOfName, ownerOf, REFUNDED_PAYMENT_ID, TENANT_ID } from '../programs/ids.ts'
import { KEY_WINDOW_SECONDS, LEASE_SECONDS, RETENTION_SECONDS } from '../programs/settings.ts'
import type { Change, Database, Row, Value, Work } from '../store/rows.ts'
import { toText } from '../store/rows.ts'
import { keyOfRow, type Schema, tableNamed } from '../store/schema.ts'
import {
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_QUEUE,
  WEBHOOKS_QUEUE,
} from '../../../src/db/queue/jobs.ts'
import { AMOUNT_MINOR, type Space } from './space.ts'

/** Tables that the model's programs write but never read. */
const UNREAD_TABLES = new Set(['events', 'webhook_deliveries'])

/** What columns become that decide nothing. */
export const CLEARED_COLUMNS: Readonly<Record<string, Row>> = {
  idempotency_keys: { created_at: 0, last_error: null },
  phase_runs: {
    attempt: 0,
    lease_epoch: 0,
    outcome: null,
    asked: null,
    answered: null,
    started_at: 0,
    ended_at: 0,
    recorded_at: 0,
  },
  ledger_postings: { created_at: 0 },
  reconciliation_findings: { ours: null, theirs: null, note: null, opened_at: 0 },
  provider_events: { occurred_at: 0, received_at: 0 },
  key_tombstones: { expired_at: 0 },
  payments: { created_at: 0, updated_at: 0 },
  refunds: { created_at: 0, updated_at: 0 },
}

/** The canonical lease epoch of a claimed operation. Lower epochs are stale. */
export const CURRENT_EPOCH = 1

/** A canonical store, and what the commit changed for programs that work on an operation. */
interface Canonical {
  readonly database: Database
  /** Keys whose operations got a new lease epoch; all earlier epochs are stale. */
  readonly keysWithNewEpoch: readonly number[]
  /** Keys whose operations got a new job; the earlier job is no longer the current one. */
  readonly keysWithNewJob: readonly number[]
}

/** The row without irrelevant values; undefined if nothing relevant is left. */
export function canonicalRow(table: string, own: Row): Row | undefined {
  if (UNREAD_TABLES.has(table)) return undefined
  const row = { ...own, ...CLEARED_COLUMNS[table] }
  switch (table) {
    case 'idempotency_keys':
      return {
        ...row,
        ...canonicalKey(row),
        ...(row['status'] === 'completed' ? COMPLETED_COLUMNS : {}),
      }
    case 'phase_runs':
      return row['reached'] === null ? undefined : row
    case 'atomic_jobs.job':
      return row['name'] === OPERATIONS_QUEUE ? canonicalJob(row) : undefined
    case 'ledger_postings':
      return { ...row, transaction_id: row['operation_id'] ?? null }
    case 'provider_events':
      return { ...row, settled_at: row['settled_at'] === null ? null : 0 }
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
    finished_at: row['finished_at'] === null ? null : 0,
    // Without a stored failure it says nothing.
    failure_certain: row['failure_stored'] === true && row['failure_certain'] === true,
    lease_expires_at: lease === null ? null : Number(lease) > 0 ? LEASE_SECONDS : -1,
    phase_began_at:
      began === null ? null : Number(began) > -KEY_WINDOW_SECONDS ? 0 : -KEY_WINDOW_SECONDS,
    expires_at: Number(expires) > 0 ? RETENTION_SECONDS : (expires ?? null),
    earlier: earlier === null ? null : { ...(earlier as Row), expired_at: 0 },
  }
}

/** `previous_status` matters only to the CHECK on a change, and a change sets both columns. */
function canonicalResource({ status, previous_status = null }: Row): Row {
  const previous = status === 'processing' ? null : previous_status
  return { previous_status: previous }
}

/** Nothing reads these columns of a completed operation. */
const COMPLETED_COLUMNS: Row = {
  attempts: 0,
  phase_began_at: null,
  unknown_at: null,
  in_doubt: false,
}

function canonicalJob({ id = null, name = null, data = null }: Row): Row {
  return { id, name, data, state: 'created', blocked: false, priority: 0 }
}

/** The work of an open transaction without irrelevant values. */
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
 * @param before what was committed before.
 * @param attemptsMax upper bound for `attempts`: more claims make no difference.
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
    const previous = before['idempotency_keys']?.find(({ id }) => id === row['id'])
    if (previous === undefined) continue
    const epochBefore = Number(previous['lease_epoch'])
    if (Number(row['lease_epoch']) > epochBefore && epochBefore > 0) keysWithNewEpoch.push(key)
    if (row['job_id'] !== previous['job_id']) keysWithNewJob.push(key)
  }
  const database: Record<string, readonly Row[]> = {}
  for (const [table, rows] of Object.entries(after)) {
    const canonicalRows = rows.flatMap((row) => {
      const canonical = canonicalRow(table, row)
      return canonical === undefined ? [] : [canonical]
    })
    const namedRows =
      table === 'atomic_jobs.job' ? nameJobs(canonicalRows, keys) : nameRows(table, canonicalRows)
    const tableSchema = tableNamed(schema, table)
    const withTokens =
      table === 'idempotency_keys'
        ? namedRows.map((row) => canonicalKeyToken(row, attemptsMax))
        : namedRows
    database[table] = sortByKey(withTokens, (row) => keyOfRow(tableSchema, row))
  }
  return { database, keysWithNewEpoch, keysWithNewJob }
}

function canonicalKeyToken(row: Row, attemptsMax: number): Row {
  const epoch = Math.min(Number(row['lease_epoch']), CURRENT_EPOCH)
  const attempts = Math.min(Number(row['attempts']), attemptsMax)
  return { ...row, job_id: currentJobOf(toText(row['id'])), lease_epoch: epoch, attempts }
}

/** Canonical ids of an operation's jobs: the job that its row names, and any other. */
export const currentJobOf = (operationId: string): string => `${operationId} current`
export const oldJobOf = (operationId: string): string => `${operationId} old`

/** Several old jobs of one operation act like one, so they share an id. */
function nameJobs(jobs: readonly Row[], keys: readonly Row[]): Row[] {
  return jobs.map((job) => {
    const { operationId } = job['data'] as { readonly operationId: string }
    const isCurrent = keys.some(({ id, job_id }) => id === operationId && job_id === job['id'])
    return { ...job, id: isCurrent ? currentJobOf(operationId) : oldJobOf(operationId) }
  })
}

/** Names each row after its content. The second row with the same content gets the suffix `#2`. */
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

/** A row with all columns of its table; missing values are null. */
export function fullRow(
  schema: Schema,
  table: string,
  values: Readonly<Record<string, Value>>,
): Row {
  const columns = schema.get(table)?.columns ?? []
  const nothing = columns.map(({ name }) => [name, null])
  return { ...(Object.fromEntries(nothing) as Row), ...values }
}

/** Fees of the tenant, so that a capture posts a fee. */
export const FEES = { basisPoints: 290, fixedMinor: 30 }

const QUEUES = [OPERATIONS_QUEUE, OPERATIONS_DEAD_LETTERS, PROVIDER_EVENTS_QUEUE, WEBHOOKS_QUEUE]

export function initialDatabase(schema: Schema, { operation }: Pick<Space, 'operation'>): Database {
  const tables: Record<string, readonly Row[]> = {}
  for (const name of schema.keys()) tables[name] = []
  tables['tenants'] = [
    fullRow(schema, 'tenants', {
      id: TENANT_ID,
      name: 'model',
      fee_basis_points: FEES.basisPoints,
      fee_fixed_minor: FEES.fixedMinor,
      requires_reference: false,
      created_at: 0,
    }),
  ]
  tables['atomic_jobs.queue'] = QUEUES.map((name) =>
    fullRow(schema, 'atomic_jobs.queue', { name, policy: 'standard', retention_seconds: 1 }),
  )
  const refunded = {
    id: REFUNDED_PAYMENT_ID,
    status: 'succeeded',
    previous_status: 'processing',
    amount_captured_minor: AMOUNT_MINOR,
    provider_payment_id: 'pi_refunded',
  }
  if (operation === 'refund.create') tables['payments'] = [paymentRow(schema, refunded)]
  return tables
}

/** A payment with these values, of a size that all have. */
export function paymentRow(schema: Schema, values: Row): Row {
  return fullRow(schema, 'payments', {
    tenant_id: TENANT_ID,
    amount_minor: AMOUNT_MINOR,
    amount_captured_minor: 0,
    amount_refunded_minor: 0,
    amount_refunding_minor: 0,
    currency: 'usd',
    capture_method: 'automatic',
    payment_method: 'pm_card_visa',
    off_session: false,
    metadata: {},
    provider: 'stripe',
    created_at: 0,
    updated_at: 0,
    ...values,
  })
}

export const rowOfKey = (database: Database, key: number): Row | undefined =>
  database['idempotency_keys']?.find((row) => keyOfName(toText(row['key'])) === key)

/** How often a key was reserved: the payments and refunds that it created are never deleted. */
export function livesOf(database: Database, key: number): number {
  const resources = [...(database['payments'] ?? []), ...(database['refunds'] ?? [])]
  const own = resources.filter(
    ({ id }) => id !== REFUNDED_PAYMENT_ID && ownerOf(toText(id)).key === key,
  )
  return own.length
}
