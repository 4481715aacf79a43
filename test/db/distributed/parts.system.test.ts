// What is sent to Citus: the parts of each statement of verify/statements, executed here on one node. The
// rules are what Citus 13.2 refuses, or answers with no rows.
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { loadModule, parseSync } from 'pgsql-parser'
import postgres from 'postgres'
import { examples } from '../../../verify/statements/examples.ts'
import type { RecordingSql } from '../../../verify/statements/record-statements.ts'
import { runWork } from '../../../src/db/connection/pool/templates.ts'
import { types, type Sql, type Store, type Transaction } from '../../../src/db/connection/client.ts'
import { readTables, type Tables } from '../../../src/db/distributed/tables.ts'
import { citusUrl } from '../../support/citus.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'

let database: TestDatabase
let client: Sql
let tables: Tables

beforeAll(async () => {
  await loadModule()
  database = await createTestDatabase({ inParts: true })
  const options = { max: 1, onnotice: () => {}, fetch_types: false, types }
  client = postgres(database.url, options) as Sql
  tables = (await readTables(client)) as Tables
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

/** These are statements of a migration, or of a session. */
const NOT_FOR_CITUS = new Set(['createTurnsIndex', 'grantRightsOnNodes', 'grantServiceRights'])
/** Their example arguments name no row that the database accepts. */
const REFUSED_ARGUMENTS = new Set(['22007', '22P02', '23502', '23503', '23505', '23514', '42P18'])

interface Sent {
  readonly text: string
  readonly parameters: readonly unknown[]
}

type Answer = (tx: Transaction, parts: readonly Sent[]) => Promise<unknown>

const lastOf = (parts: readonly Sent[]): Sent => parts.at(-1) ?? { text: '', parameters: [] }

const execute: Answer = async (tx, parts) => {
  const { text, parameters } = lastOf(parts)
  return await tx.unsafe(text, parameters as never[], { prepare: true })
}

/** Values of the types of columns, by their numbers. */
const VALUES: Readonly<Record<number, unknown>> = {
  16: true,
  17: Buffer.alloc(32),
  20: 1,
  21: 1,
  23: 1,
  25: 'x',
  114: {},
  700: 1,
  701: 1,
  1007: [1],
  1009: ['x'],
  1016: [1],
  1022: [1],
  1042: 'x',
  1043: 'x',
  1184: '2026-01-01 00:00:00+00',
  1186: '1 s',
  1700: '1',
  2950: '01900000-0000-7000-8000-000000000000',
  2951: ['01900000-0000-7000-8000-000000000000'],
  3802: {},
}
const ON_ITS_OWN = /^set local|^select now\(\)|two_phases/
/** Some statements repeat until there are no more rows. */
const ROWS_MAX = 60

/**
 * Answers with one row without executing the part, so that the parts for its rows follow. Citus plans
 * it, too.
 */
const answerWithRow: Answer = async (tx, parts) => {
  const { text, parameters } = lastOf(parts)
  if (ON_ITS_OWN.test(text)) return await execute(tx, parts)
  const options = { prepare: true }
  const { columns } = await tx.unsafe(text, parameters as never[], options).describe()
  if (citusUrl() !== undefined) await tx.unsafe(`explain ${text}`, parameters as never[], options)
  const row = Object.fromEntries(columns.map(({ name, type }) => [name, VALUES[type] ?? null]))
  const count = parts.length > ROWS_MAX ? 0 : 1
  const rows = columns.length === 0 || count === 0 ? [] : [row]
  return Object.assign(rows, { columns, count })
}

const ROLLED_BACK = new Error('rolled back')

/** Sends an example in a transaction that is rolled back, and returns its parts. */
async function partsOf(
  send: (typeof examples)[number]['send'],
  answer: Answer = execute,
): Promise<Sent[]> {
  const sent: Sent[] = []
  const work = async (tx: Transaction) => {
    const recording = Object.assign(
      ((...call: never[]) => tx(...(call as unknown as [never]))) as never,
      tx,
      {
        unsafe: (text: string, parameters: never[] = []) => {
          sent.push({ text, parameters })
          return answer(tx, sent)
        },
      },
    ) as Transaction
    const session = { own: recording, begun: Promise.resolve() }
    await runWork(session, tables, async (sql) => {
      const begin = (inner: (own: unknown) => unknown) => inner(sql)
      const nested = Object.assign(sql.bind(undefined), sql, { begin })
      const result = await send(nested as never as RecordingSql, { sql: nested } as never as Store)
      if (isIterable(result)) for await (const _ of result);
      // Notifications leave after a turn of the event loop.
      await turn()
    })
    throw ROLLED_BACK
  }
  await client.begin(work).catch((error: unknown) => {
    const code = error instanceof postgres.PostgresError ? error.code : ''
    const isOfUs = error instanceof Error && !(error instanceof postgres.PostgresError)
    if (!REFUSED_ARGUMENTS.has(code) && !isOfUs) throw error
  })
  return sent
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

type Tree = Readonly<Record<string, unknown>>

function* walk(tree: unknown): Generator<Tree> {
  if (typeof tree !== 'object' || tree === null) return
  // The tables of FOR UPDATE are in FROM too.
  if ('lockedRels' in tree) return
  yield tree as Tree
  for (const part of Object.values(tree)) yield* walk(part)
}

const CHANGES = ['InsertStmt', 'UpdateStmt', 'DeleteStmt']
const UNSTABLE = new Set(['now', 'gen_random_uuid', 'clock_timestamp', 'set_config', 'pg_notify'])

const nameOf = (part: Tree): string | undefined => {
  const names = (part['funcname'] ?? []) as { String?: { sval?: string } }[]
  return names.at(-1)?.String?.sval
}

/** Citus crashes at such a change. */
const movesRows = ({ UpdateStmt: update }: Tree): boolean => {
  const { targetList = [] } = (update ?? {}) as { targetList?: { ResTarget?: { name?: string } }[] }
  return targetList.some(({ ResTarget }) => ResTarget?.name === 'tenant_id')
}

/** Citus refuses what adds an interval to a time in CASE and COALESCE, but not in their queries. */
const hasIntervalInCase = (change: Tree): boolean =>
  [...walk(change)]
    .filter((part) => 'CaseExpr' in part || 'CoalesceExpr' in part)
    .flatMap((part) => [...walk(withoutQueries(part))])
    .some(({ names }) => JSON.stringify(names ?? []).includes('"interval"'))

const withoutQueries = (part: Tree): Tree =>
  JSON.parse(
    JSON.stringify(part, (name, value: unknown) => (name === 'SubLink' ? undefined : value)),
  ) as Tree

/** Whether a column of a query of several tenants is a query of a distributed table. */
const asksForEachRow = ({ SelectStmt: query }: Tree, text: string): boolean =>
  !/tenant_id = CAST\(\$\d+ AS uuid\)/.test(text) &&
  [...walk((query as Tree | undefined)?.['targetList'])]
    .filter((part) => 'SubLink' in part)
    .flatMap((part) => [...walk(part)])
    .some(({ relname }) => tables.distributed.has(String(relname)))

/** What Citus refuses about a part; empty if nothing. */
function refusals({ text }: Sent): string[] {
  const [statement] = parseSync(text).stmts ?? []
  const parts = [...walk(statement)]
  const named = new Set(parts.flatMap((part) => (part['ctename'] as string | undefined) ?? []))
  const relations = parts.filter((part) => typeof part['relname'] === 'string')
  const isShared = (part: Tree) =>
    part['schemaname'] === undefined && tables.distributed.has(String(part['relname']))
  const shared = relations.filter(isShared)
  if (shared.length === 0) return []
  const local = relations.filter((part) => !isShared(part) && !named.has(String(part['relname'])))
  const changes = parts.filter((part) => CHANGES.some((kind) => kind in part))
  const withoutColumns = parts.filter(
    (part) => part['op'] === 'SETOP_NONE' && !('targetList' in part) && !('valuesLists' in part),
  )
  const unstable = parts.flatMap((part) => nameOf(part) ?? []).filter((name) => UNSTABLE.has(name))
  const isChange = changes.length > 0
  return [
    ...(local.length > 0 ? [`joins with ${String(local[0]?.['relname'])} of this node`] : []),
    ...(changes.length > 1 ? ['changes in a common table expression'] : []),
    ...(withoutColumns.length > 0 ? ['selects no columns'] : []),
    ...(isChange ? unstable.map((name) => `${name} in a change`) : []),
    ...(parts.some((part) => asksForEachRow(part, text)) ? ['a query for each row'] : []),
    ...(changes.some(hasIntervalInCase) ? ['an interval in a case of a change'] : []),
    ...(changes.some(movesRows) ? ['changes the tenant of a row'] : []),
    ...('InsertStmt' in (changes[0] ?? {}) && !text.includes('VALUES') ? ['inserts a query'] : []),
  ]
}

/** How often a part names its tenant: once for each table of tenants, and for the one that it changes. */
const tenantTables = (text: string): number =>
  [...walk(parseSync(text).stmts?.[0])].filter(
    (part) =>
      typeof part['relname'] === 'string' &&
      tables.distributed.has(part['relname']) &&
      part['schemaname'] === undefined &&
      (tables.columns.get(part['relname']) ?? []).includes('tenant_id'),
  ).length

const cases = examples
  .filter(({ name }) => !NOT_FOR_CITUS.has(name))
  .map(({ name, send }) => [name, send] as const)

test.each(cases)('Citus accepts each part of %s', async (_, send) => {
  const sent = [...(await partsOf(send)), ...(await partsOf(send, answerWithRow))]

  expect(
    sent.flatMap((part) => refusals(part).map((refusal) => `${refusal}: ${part.text}`)),
  ).toEqual([])
})

test('the parts for the rows of an earlier part are among them', async () => {
  // The first one changes no resource.
  const [, send] = cases.filter(([name]) => name === 'recordEach')[1] ?? []
  const update = ({ text }: Sent) => text.includes('UPDATE payments')

  expect((await partsOf(send as never)).some(update)).toBe(false)
  expect((await partsOf(send as never, answerWithRow)).some(update)).toBe(true)
})

test('a statement of one tenant names it at each table', async () => {
  const statements = cases.filter(([name]) =>
    /^(findPayment(?!Overview)|changeRefund|reserveEach|failIfDue)/.test(name),
  )
  expect(statements.length).toBeGreaterThan(5)

  for (const [, send] of statements) {
    const changesOrReads = (await partsOf(send)).filter(
      ({ text }) =>
        tenantTables(text) > 0 && !text.startsWith('INSERT') && !/WHERE\s+\(?false/.test(text),
    )
    for (const { text } of changesOrReads) {
      const named = text.match(/tenant_id = (CAST\(\$\d+ AS uuid\)|\$\d+)/g) ?? []
      expect([text, named.length >= tenantTables(text)]).toEqual([text, true])
    }
  }
})

test('the setting that passes settings on comes before all parts of a transaction', async () => {
  const [, send] = cases.find(([name]) => name === 'findPayment') ?? []

  const texts = (await partsOf(send as never)).map(({ text }) => text)

  expect(texts.slice(0, 2)).toEqual([
    "set local citus.propagate_set_commands = 'local'",
    'select now()::text as now',
  ])
})
