// Executes a statement in parts, for a database whose tables are distributed over nodes. The parts are
// executed one after the other in one transaction, and each that changes a row names its tenant.
//
// Citus refuses most of our statements as they are: a change in a common table expression, a join with
// its rows, a function of the time in a change. And row-level security needs the tenants as a setting
// that reaches the other nodes. See docs/decisions/0052-statements-in-parts.md.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { TENANTS_SETTING } from '../connection/row-security.ts'
import { inTransaction } from '../connection/transaction.ts'
import { Execution } from './execution.ts'
import { memo } from './memo.ts'
import type { Rows } from './rows.ts'
import { changedTables, NOW, readStatement, TENANT, type ReadStatement } from './statement.ts'
import { some } from './syntax.ts'
import type { Tables } from './tables.ts'

export interface StatementText {
  readonly text: string
  /** The values of `$1`, `$2`, ... */
  readonly parameters: readonly unknown[]
}

/**
 * Executes a statement: in parts if it uses a distributed table, in one transaction. In a
 * transaction of the caller, the parts belong to it.
 *
 * Unlike one statement, a part sees what the parts before it have changed, and what others have
 * committed meanwhile.
 *
 * @param ofTransaction the tenants that its transaction has named.
 * @returns the rows of its main query.
 * @throws the driver's error of a part. A caller with a transaction has to roll it back.
 */
export async function executeText(
  client: Sql | Transaction,
  { text, parameters }: StatementText,
  tables: Tables,
  ofTransaction?: string,
): Promise<Rows> {
  const statement = await readStatement(text)
  const { usesDistributed, changesDistributed, changesLocal } = usageOf(statement, tables)
  if (!usesDistributed) {
    return (await client.unsafe(text, [...parameters] as never[], { prepare: true })) as never
  }
  const isWhole = 'begin' in client
  // A transaction of a caller may change tables of this node by other statements.
  const isTwoPhase = changesDistributed && (changesLocal || !isWhole)
  const execute = async (tx: Transaction): Promise<Rows> => {
    const own = statement.tenants && parameters[statement.tenants - 1]
    const now = await begin(tx, own, isTwoPhase)
    const tenant = onlyTenant(own ?? ofTransaction)
    const values = new Map(parameters.map((value, index) => [index + 1, value]))
    values.set(NOW, now).set(TENANT, tenant)
    const execution = new Execution({ tx, values, tables, hasTenant: tenant !== undefined })
    return await execution.run(tenant === undefined ? statement.ofMany : statement.ofOne)
  }
  return isWhole ? await inTransaction(client, execute) : await execute(client)
}

/** Other statements, such as EXPLAIN, are sent as they are. */
const QUERIES = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt']

/** Which tables a statement uses and changes. */
interface Usage {
  readonly usesDistributed: boolean
  readonly changesDistributed: boolean
  readonly changesLocal: boolean
}

const usages = new WeakMap<ReadStatement, Usage>()

function usageOf(statement: ReadStatement, { distributed }: Tables): Usage {
  return memo(usages, statement, () => {
    const { ofOne } = statement
    const isQuery = QUERIES.some((kind) => kind in ofOne.main)
    const changed = changedTables(ofOne)
    return {
      usesDistributed: isQuery && some(ofOne, ({ relname }) => distributed.has(String(relname))),
      changesDistributed: changed.some((name) => distributed.has(name)),
      changesLocal: changed.some((name) => !distributed.has(name)),
    }
  })
}

/** See src/db/migrations/distribute.sql. */
const COMMIT_IN_TWO_PHASES = 'update drizzle.two_phases set id = 0 where id = 0'

const TENANTS = /^(\*|\{[0-9a-f,-]*\})$/

/**
 * Names the tenants on all nodes, where `set_config` would name them on this one. Returns the time of
 * the transaction here: each node has its own clock.
 */
async function begin(tx: Transaction, tenants: unknown, isTwoPhase: boolean): Promise<string> {
  // Citus passes on the whole text with a setting, so each is a statement of its own.
  const settings = tenants === undefined ? [] : settingsFor(tenants)
  const texts = isTwoPhase ? [...settings, COMMIT_IN_TWO_PHASES] : settings
  const [[row]] = await Promise.all([
    tx.unsafe<{ now: string }[]>('select now()::text as now', [], { prepare: true }),
    ...texts.map((text) => tx.unsafe(text)),
  ])
  return row?.now ?? ''
}

function settingsFor(tenants: unknown): string[] {
  if (typeof tenants !== 'string' || !TENANTS.test(tenants)) {
    throw new Error('A statement names no valid tenants')
  }
  return [
    `set local citus.propagate_set_commands = 'local'`,
    `set local ${TENANTS_SETTING} = '${tenants}'`,
  ]
}

const onlyTenant = (tenants: unknown): string | undefined =>
  typeof tenants === 'string' ? /^\{([^,]+)\}$/.exec(tenants)?.[1] : undefined
