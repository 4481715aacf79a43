// The plans of the very statements that run: auto_explain reports each one as it is executed, with its
// time and buffers. A statement is explained at first, and when it has run so often that Postgres has
// decided whether to plan it anew for its parameters each time. Judges whether the plans of a
// statement are the same at every table size.
import postgres from 'postgres'
import { planning, types, type Sql } from '../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../src/config.ts'

interface Call {
  /** Makes the statement find something to do. */
  readonly arrange?: (sql: Sql) => Promise<unknown>
  /** Runs the statement as a part of the service runs it, with what was arranged. */
  readonly run: (sql: Sql, found: unknown) => Promise<unknown>
}

export interface Statement extends Call {
  /** The part of the service that runs it. */
  readonly of: string
  readonly name: string
}

/** How statements are called, by their names. Some need nothing arranged. */
export type Calls = Readonly<Record<string, Call | ((sql: Sql) => Promise<unknown>)>>

export function statementsOf(of: string, calls: Calls): Statement[] {
  return Object.entries(calls).map(([name, call]) =>
    typeof call === 'function' ? { of, name, run: (sql: Sql) => call(sql) } : { of, name, ...call },
  )
}

export function arranged<Found>(
  arrange: (sql: Sql) => Promise<Found>,
  run: (sql: Sql, found: Found) => Promise<unknown>,
): Call {
  return { arrange, run: (sql, found) => run(sql, found as Found) }
}

export interface Plan {
  readonly of: string
  readonly statement: string
  readonly planned: 'at first' | 'after many runs'
  readonly text: string
  /** Large tables that are read from end to end: this must not be. */
  readonly scanned: readonly string[]
}

/** Tables that grow with the number of keys, or with what was ever paid. */
const LARGE = /^(idempotency_keys|payments|key_tombstones|events|phase_runs|ledger_postings)$/

/** Postgres decides after five runs of a prepared statement. */
const RUNS = 8

/** Explains every statement. What they do is rolled back. */
export async function readPlans(
  databaseUrl: string,
  statements: readonly Statement[],
): Promise<Plan[]> {
  const plans: Plan[] = []
  const heard: string[] = []
  const sql = connect(databaseUrl, (message) => heard.push(message))
  try {
    await prepare(sql)
    for (const statement of statements) {
      for (let run = 1; run <= RUNS; run += 1) {
        const texts = await explain(sql, statement, heard)
        if (run > 1 && run < RUNS) continue
        const planned = run === 1 ? 'at first' : 'after many runs'
        plans.push(...texts.map((text) => planOf(statement, planned, text)))
      }
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
  return plans
}

/** One connection, whose settings hold for all that it runs. */
function connect(url: string, hear: (message: string) => void): Sql {
  return postgres(url, {
    max: 1,
    types,
    fetch_types: false,
    connection: { application_name: 'atomic-payments bench plans', ...planning },
    onnotice: ({ message }) => hear(message ?? ''),
  })
}

async function prepare(sql: Sql): Promise<void> {
  await sql.unsafe(`
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_analyze = on;
    set auto_explain.log_buffers = on;
    set auto_explain.log_level = notice;
    set role ${SERVICE_ROLE};
  `)
}

/** The plans of the statements that the function runs. */
async function explain(sql: Sql, { arrange, run }: Statement, heard: string[]): Promise<string[]> {
  await sql`begin`
  // The transactions of the service are a part of this one.
  const tx = new Proxy(sql, { has: (target, name) => name !== 'begin' && name in target })
  const begin = (work: (own: Sql) => Promise<unknown>) => work(tx)
  const within = new Proxy(sql, {
    get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
  })
  try {
    const found = await arrange?.(within)
    heard.length = 0
    await run(within, found)
  } finally {
    await sql`rollback`
  }
  return heard.map(cutPlan).filter((text) => text !== '')
}

/** A notice is the duration, the text of the statement with its parameters, and then the plan. */
function cutPlan(notice: string): string {
  const lines = notice.split('\n')
  const first = lines.findIndex((line) => /\(cost=\d/.test(line))
  return first === -1 ? '' : lines.slice(first).join('\n').trimEnd()
}

function planOf({ of, name }: Statement, planned: Plan['planned'], text: string): Plan {
  const tables = new Set([...text.matchAll(/Seq Scan on (\w+)/g)].map(([, table = '']) => table))
  const scanned = [...tables].filter((table) => LARGE.test(table))
  return { of, statement: name, planned, text, scanned }
}

export interface SizedPlans {
  readonly size: number
  readonly plans: readonly Plan[]
}

export interface JudgedPlan {
  readonly of: string
  readonly statement: string
  /** Large tables with a sequential scan at any size. */
  readonly scanned: readonly string[]
  /** The sizes at which the plan differs from the one at the smallest size. */
  readonly changesAt: readonly number[]
}

/** Returns one judgement per statement. A custom and a generic plan are both compared. */
export function judgePlans(sized: readonly SizedPlans[]): JudgedPlan[] {
  const [smallest, ...larger] = sized
  if (smallest === undefined) return []
  const names = [...new Set(smallest.plans.map(({ statement }) => statement))]
  return names.map((statement) => {
    const of = ({ plans }: SizedPlans) => plans.filter((plan) => plan.statement === statement)
    const all = sized.flatMap(of)
    const shape = shapesOf(of(smallest))
    return {
      of: all[0]?.of ?? '',
      statement,
      scanned: [...new Set(all.flatMap(({ scanned }) => scanned))],
      changesAt: larger.filter((one) => shapesOf(of(one)) !== shape).map(({ size }) => size),
    }
  })
}

function shapesOf(plans: readonly Plan[]): string {
  return plans.map(shapeOf).join('\n\n')
}

/** What two plans of a statement have in common: their nodes, without costs, times and parameters. */
function shapeOf({ text }: Pick<Plan, 'text'>): string {
  const nodes = text.split('\n').filter((line) => line.includes('(cost='))
  return nodes.map((line) => line.replace(/\(cost=.*$/, '').trim()).join('\n')
}
