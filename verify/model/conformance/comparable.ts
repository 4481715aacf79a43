// Reduces results and tables of both stores to comparable text: without timestamps and generated
// values, which differ.
import { GENERATED_ID_PREFIX, MODEL_ID_PREFIX, UUID } from '../programs/symbols.ts'
import type { Database } from '../store/database.ts'
import { isObject, type Row, type Value } from '../store/rows.ts'
import type { StatementResult } from './memory-sessions.ts'

/** Columns whose values differ between the stores. */
const NOT_COMPARABLE = new Set([
  'phase_age_ms',
  'age_ms',
  'age_seconds',
  'due_in_seconds',
  'unknown_for_seconds',
  'fee_fixed_minor',
])

const isTimestamp = (name: string): boolean => name.endsWith('_at')

export function comparable(result: StatementResult | undefined): string {
  if (result === undefined) return 'waits'
  if (result.kind === 'error') return `error ${result.code} ${result.constraint ?? ''}`
  return JSON.stringify({ count: result.count, rows: result.rows.map(normalizeRow).toSorted() })
}

function normalizeRow(row: Row): string {
  return JSON.stringify(normalize(row))
}

function normalize(value: Value): Value {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value as never).toString('hex')}`
  if (typeof value === 'string') return withoutStoreIds(value)
  if (Array.isArray(value)) return value.map((part: Value) => normalize(part))
  if (!isObject(value)) return value
  const names = Object.keys(value)
    .filter((name) => !NOT_COMPARABLE.has(name))
    .toSorted()
  return Object.fromEntries(
    names.map((name) => {
      const part = value[name] ?? null
      return [name, isTimestamp(name) ? part !== null : normalize(part)]
    }),
  )
}

/** Each store generates ids of its own. */
function withoutStoreIds(text: string): string {
  const isOfModel = (id: string) =>
    id.startsWith(MODEL_ID_PREFIX) || id.startsWith(GENERATED_ID_PREFIX)
  return text
    .replaceAll(UUID, (id) => (isOfModel(id) ? id : 'of the store'))
    .replaceAll(/\bjob-\d+-\d+\b/g, 'of the store')
}

/** The tables that are compared at the end of a history, with the columns that must be equal. */
const COMPARED: Readonly<Record<string, readonly string[]>> = {
  idempotency_keys: [
    'key',
    'status',
    'parameters',
    'recovery_point',
    'lease_epoch',
    'attempts',
    'in_doubt',
    'lease_expires_at',
    'phase_began_at',
    'unknown_at',
    'next_check_at',
    'response_status',
    'cancellation',
  ],
  provider_events: ['id', 'object_id', 'status', 'settled_at'],
  payments: [
    'status',
    'previous_status',
    'amount_captured_minor',
    'amount_refunding_minor',
    'amount_refunded_minor',
    'reference',
  ],
  refunds: ['status', 'previous_status', 'amount_minor', 'reference'],
  disputes: ['payment_id', 'provider_dispute_id', 'status'],
  ledger_postings: ['kind', 'debit', 'credit', 'amount_minor'],
  phase_runs: ['operation', 'phase', 'reached', 'lease_epoch'],
  events: ['type'],
  key_tombstones: ['payment_id'],
  reconciliation_findings: ['kind', 'object_id', 'status'],
  'atomic_jobs.job': ['name', 'data'],
}

export const comparedTables = Object.keys(COMPARED)

export function comparableTable(table: string, rows: readonly Row[]): string[] {
  const columns = COMPARED[table] ?? []
  return rows
    .map((row) => {
      const values = columns.map((name) => {
        const value = row[name] ?? null
        if (isTimestamp(name)) return value !== null
        return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : normalize(value)
      })
      return JSON.stringify(values)
    })
    .toSorted()
}

export function comparableDatabase(database: Database): Record<string, string[]> {
  return Object.fromEntries(
    comparedTables.map((table) => [table, comparableTable(table, database[table] ?? [])]),
  )
}
