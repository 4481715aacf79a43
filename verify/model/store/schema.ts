// Reads columns, defaults and constraints from the product's own table declarations, and the rules in
// functions from its migration. The tables of pg-boss are not declared there; here they have the columns
// that the product's statements name.
import { readFileSync } from 'node:fs'
import { is, SQL } from 'drizzle-orm'
import { getTableConfig, PgDialect, PgTable } from 'drizzle-orm/pg-core'
import { parseExpression } from '../sql/parse-statement.ts'
import { type Expression, UnknownSqlError } from '../sql/syntax.ts'
import { type Row, toText, type Value } from './rows.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly notNull: boolean
  readonly byDefault: Expression | undefined
}

export interface Unique {
  readonly name: string
  readonly columns: readonly string[]
  /** The condition of a partial index. */
  readonly where: Expression | undefined
}

export interface Reference {
  readonly name: string
  readonly columns: readonly string[]
  readonly table: string
  /** Whether it is checked when the transaction ends. */
  readonly isDeferred: boolean
}

interface Check {
  readonly name: string
  /** Another name for a rule: see `checksOf`. */
  readonly constraint: string
  readonly condition: Expression
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly primaryKey: readonly string[]
  readonly primaryKeyName: string
  readonly uniques: readonly Unique[]
  readonly checks: readonly Check[]
  readonly references: readonly Reference[]
}

export type Schema = ReadonlyMap<string, Table>

/** `drizzle/0000_schema.sql` defers their references. Drizzle's declarations cannot say so. */
const TABLES_WITH_DEFERRED_REFERENCES = new Set(['idempotency_keys'])

const dialect = new PgDialect()

/** @param modules the modules that declare the tables. */
export function readSchema(modules: readonly Readonly<Record<string, unknown>>[]): Schema {
  const declared = modules.flatMap((module) =>
    Object.values(module).filter((value): value is PgTable => is(value, PgTable)),
  )
  const tables = [...declared.map(readTable), ...undeclared]
  return new Map(tables.map((table) => [table.name, table]))
}

/**
 * The schema without the constraints and indexes that the statements drop. Everything else in the
 * statements is ignored.
 */
export function dropGuards(schema: Schema, statements: readonly string[]): Schema {
  const dropped = new Set(
    statements.flatMap((statement) => {
      const match = /drop (?:constraint|index) (?<name>\w+)/.exec(statement)
      return match?.groups?.['name'] ?? []
    }),
  )
  const keeps = (of: { readonly name: string; readonly constraint?: string }) =>
    !dropped.has(of.name) && !dropped.has(of.constraint ?? '')
  const tables = [...schema.values()].map((table) => ({
    ...table,
    uniques: table.uniques.filter(keeps),
    checks: table.checks.filter(keeps),
    references: table.references.filter(keeps),
  }))
  return new Map(tables.map((table) => [table.name, table]))
}

function readTable(declared: PgTable): Table {
  const config = getTableConfig(declared)
  const primary = config.columns.filter((column) => column.primary).map(({ name }) => name)
  const [compound] = config.primaryKeys
  return {
    name: config.name,
    columns: config.columns.map((column) => ({
      name: column.name,
      type: column.getSQLType().replace('timestamp with time zone', 'timestamptz'),
      notNull: column.notNull,
      byDefault: column.hasDefault ? defaultOf(column.default) : undefined,
    })),
    primaryKey: compound?.columns.map(({ name }) => name) ?? primary,
    primaryKeyName: compound?.getName() ?? `${config.name}_pkey`,
    uniques: [
      ...config.uniqueConstraints.map((unique) => ({
        name: unique.getName() ?? '',
        columns: unique.columns.map(({ name }) => name),
        where: undefined,
      })),
      ...config.indexes.flatMap(({ config: index }) => (index.unique ? [uniqueIndex(index)] : [])),
    ],
    checks: config.checks.flatMap(({ name, value }) => checksOf(name, value)),
    references: config.foreignKeys.map((key) => {
      const { columns, foreignTable } = key.reference()
      const table = getTableConfig(foreignTable).name
      return {
        name: key.getName(),
        columns: columns.map(({ name }) => name),
        table,
        isDeferred: TABLES_WITH_DEFERRED_REFERENCES.has(config.name),
      }
    }),
  }
}

const MIGRATION = new URL('../../../drizzle/0000_schema.sql', import.meta.url)
const migration = readFileSync(MIGRATION, 'utf8').replaceAll(/--.*/g, '')
const RULE = /when not \((?<condition>[^]*?)\)\s+then public\.refuse_row\('(?<name>\w+)'\)/g

/** A CHECK, or the rules of the function that it calls. Their names are columns of the row. */
function checksOf(constraint: string, value: SQL): Check[] {
  if (!constraint.endsWith('_rules')) {
    return [{ name: constraint, constraint, condition: expressionOf(value) }]
  }
  const [, after = ''] = migration.split(`create function ${constraint}(`)
  const [body = ''] = after.split('$$;')
  return [...body.matchAll(RULE)].map(({ groups: { name = '', condition = '' } = {} }) => ({
    name,
    constraint,
    condition: parseExpression(condition),
  }))
}

function uniqueIndex(index: {
  readonly name?: string | undefined
  readonly columns: readonly object[]
  readonly where?: SQL | undefined
}): Unique {
  const columns = index.columns.flatMap((column) =>
    'name' in column && typeof column.name === 'string' ? [column.name] : [],
  )
  const where = index.where && expressionOf(index.where)
  return { name: index.name ?? '', columns, where }
}

function defaultOf(value: unknown): Expression {
  if (is(value, SQL)) return expressionOf(value)
  return { kind: 'constant', value: value as Value }
}

function expressionOf(value: SQL): Expression {
  return parseExpression(dialect.sqlToQuery(value).sql)
}

/** Defaults of the pg-boss columns that statements compare. */
const DEFAULTS: Row = { state: 'created', blocked: false, priority: 0 }

function plainTable(name: string, primaryKey: readonly string[], others: string): Table {
  const columns = [...primaryKey, ...others.trim().split(/\s+/)].map((column) => {
    const value = DEFAULTS[column]
    const byDefault = value === undefined ? undefined : ({ kind: 'constant', value } as const)
    // A job for an unknown queue has no policy and violates this constraint, so nothing is written
    // without its job.
    const notNull = column === 'policy' || primaryKey.includes(column)
    return { name: column, type: 'text', notNull, byDefault }
  })
  const primaryKeyName = `${name}_pkey`
  return { name, columns, primaryKey, primaryKeyName, uniques: [], checks: [], references: [] }
}

const OF_QUEUES_AND_JOBS = `retry_limit retry_delay retry_backoff retry_delay_max expire_seconds
  heartbeat_seconds deletion_seconds policy dead_letter`

const undeclared: readonly Table[] = [
  plainTable('atomic_jobs.queue', ['name'], `${OF_QUEUES_AND_JOBS} retention_seconds`),
  plainTable(
    'atomic_jobs.job',
    ['name', 'id'],
    `${OF_QUEUES_AND_JOBS} data state blocked priority start_after created_on keep_until output`,
  ),
]

/** @throws UnknownSqlError when there is none. */
export function tableNamed(schema: Schema, name: string): Table {
  const table = schema.get(name)
  if (table === undefined) throw new UnknownSqlError(`unknown table ${name}`)
  return table
}

/** The text that identifies the row to which a row refers; undefined if it refers to none. */
export function referredKey({ columns }: Reference, row: Row): string | undefined {
  const values = columns.map((column) => row[column] ?? null)
  return values.includes(null) ? undefined : values.map(String).join(' ')
}

/** The text that identifies a row within its table. */
export function keyOfRow({ primaryKey }: Pick<Table, 'primaryKey'>, row: Row): string {
  return primaryKey.map((column) => toText(row[column])).join(' ')
}
