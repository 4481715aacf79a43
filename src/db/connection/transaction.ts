// Runs transactions and lone statements, each of which names the tenants whose rows it sees.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { isTransactionFailed } from './store-errors.ts'

/**
 * The policy of each table of tenants (drizzle/0000_schema.sql): a second guard behind the predicates of each
 * statement. What names no tenant reads no row and can write none.
 */
export const TENANT_POLICY = 'seen_by_its_tenant'
/** The setting that the policies read. It is local to a transaction, so a pooler's next client has none of it. */
export const TENANTS_SETTING = 'atomic.tenants'
/** The value of the setting for a statement that sees all tenants. */
export const EVERY_TENANT = '*'

/**
 * Runs the work in one transaction, which commits when it resolves and rolls back when it rejects.
 *
 * The work may await only its own statements: while it waits for something else, a lost connection
 * goes unnoticed until the next write.
 *
 * @throws the error of the work, or of the driver. After a lost connection, whether the commit
 *   happened is unknown.
 */
export async function inTransaction<Result>(
  sql: Sql,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return (await sql.begin(work)) as Result
}

/**
 * Runs the work in one transaction that sees the rows of one tenant: see `inTransaction`, and
 * `TENANT_POLICY`. `begin` and the setting leave with its first statements, which must be about tables of
 * tenants: if the server refuses `begin`, they name no tenant, and row-level security refuses them.
 */
export function inTenant<Result>(
  sql: Sql,
  tenantId: string,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return inTenants(sql, [{ tenantId }], work)
}

/** The same for the rows of the tenants of these records. */
export function inTenants<Result>(
  sql: Sql,
  rows: readonly OfTenant[],
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return inTransaction(sql, async (tx) => {
    const isSet = see(tx, tenantsOf(rows))
    const [, result] = await together([isSet, work(tx)])
    return result
  })
}

/**
 * The same for the rows of all tenants: for background work and operators. Its first statements may be
 * about any table, so they wait for `begin`.
 */
export function inService<Result>(
  sql: Sql,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return inTransaction(sql, async (tx) => {
    await see(tx, EVERY_TENANT)
    return await work(tx)
  })
}

/**
 * Tags one statement that sees the rows of one tenant. It takes one round trip: `begin`, the setting and
 * `commit` leave with it. In a transaction, it is one of its statements.
 */
export function asTenant(sql: Sql | Transaction, tenantId: string): Transaction {
  return asTenants(sql, [{ tenantId }])
}

/** The same for the rows of the tenants of these records. */
export function asTenants(sql: Sql | Transaction, rows: readonly OfTenant[]): Transaction {
  return alone(sql, tenantsOf(rows))
}

/** The same for the rows of all tenants: for background work, operators and authentication. */
export function asService(sql: Sql | Transaction): Transaction {
  return alone(sql, EVERY_TENANT)
}

function alone(sql: Sql | Transaction, tenants: string): Transaction {
  if (!('begin' in sql)) return sql
  return tagOf(sql, (strings, values) =>
    inTransaction(sql, async (tx) => {
      const isSet = see(tx, tenants)
      const answer = tx(strings, ...values).then((rows) => rows)
      const [, rows] = await thenCommit(tx, [isSet, answer])
      return rows
    }),
  ) as never
}

/**
 * Makes a tag of templates, each of which `run` executes when it is awaited, or which becomes a part of
 * another one. A call without a template builds an identifier or a list of values.
 */
export function tagOf(
  client: Sql,
  run: (strings: TemplateStringsArray, values: never[]) => Promise<unknown>,
) {
  return (strings: TemplateStringsArray, ...values: never[]): object => {
    const built = client(strings, ...values)
    return Array.isArray(strings.raw) ? whenAwaited(built, () => run(strings, values)) : built
  }
}

/** Has a statement of the driver executed by `run` when it is awaited. As a part it stays what it is. */
export function whenAwaited(statement: object, run: () => Promise<unknown>): object {
  let result: Promise<unknown> | undefined
  const start = () => (result ??= run())
  return Object.assign(statement, {
    // oxlint-disable-next-line unicorn/no-thenable -- so is the driver's own.
    then: (...handlers: Parameters<Promise<unknown>['then']>) => start().then(...handlers),
    catch: (handler: (error: unknown) => unknown) => start().catch(handler),
    finally: (handler: () => void) => start().finally(handler),
  })
}

interface OfTenant {
  readonly tenantId: string
}

const tenantsOf = (rows: readonly OfTenant[]): string =>
  `{${[...new Set(rows.map(({ tenantId }) => tenantId))].join(',')}}`

const TENANTS = /^(\*|\{[0-9a-f,-]*\})$/

/** Names the tenants of a transaction. It is sent at once. */
function see(tx: Transaction, tenants: string): Promise<unknown> {
  if (!TENANTS.test(tenants)) throw new Error('a transaction names no tenant')
  return tx.unsafe(`set local ${TENANTS_SETTING} = '${tenants}'`).then((answer) => answer)
}

/**
 * Waits for statements of a transaction that leave together, in this order, like `Promise.all`. If one
 * fails, it still waits for the others: none of them may send a statement when the transaction has ended.
 *
 * @param promises of functions, which have sent their first statements.
 * @throws the error of the statement that failed, and not of those behind it, which its transaction refuses.
 */
export async function together<const Promises extends readonly Started[]>(
  promises: Promises,
): Promise<{ -readonly [Index in keyof Promises]: Awaited<Promises[Index]> }> {
  const outcomes = await Promise.allSettled(promises)
  const errors = outcomes.flatMap((outcome): unknown[] =>
    outcome.status === 'rejected' ? [outcome.reason] : [],
  )
  if (errors.length > 0) throw errors.find((error) => !isTransactionFailed(error)) ?? errors[0]
  return await Promise.all(promises)
}

/** Sends `commit` behind what a transaction has sent, for those that can. */
export const commitAtOnce = new WeakMap<Transaction, () => void>()

/**
 * The same for the last statements of a transaction, behind which `commit` leaves at once. If one fails,
 * the server rolls back; what they return can undo nothing any more.
 *
 * @param promises of functions, each of which sends all its statements at once.
 */
export function thenCommit<const Promises extends readonly Started[]>(
  tx: Transaction,
  promises: Promises,
): ReturnType<typeof together<Promises>> {
  commitAtOnce.get(tx)?.()
  return together(promises)
}

/** Not a template, which is sent when it is awaited: behind the statements of all functions. */
type Started = Promise<unknown> & { readonly describe?: never }

/** Longer than any transaction of ours may take. */
const TRANSACTION_MAX_MS = 15 * 60_000

const withLongStatements = new WeakSet<Transaction>()

/**
 * Lets the statements of a transaction take as long as a transaction may take. Its connection does not
 * count as lost while it waits for them.
 */
export async function allowLongStatements(tx: Transaction): Promise<void> {
  withLongStatements.add(tx)
  await tx`select set_config('statement_timeout', ${String(TRANSACTION_MAX_MS)}, true)`
}

export function hasLongStatements(tx: Transaction): boolean {
  return withLongStatements.has(tx)
}
