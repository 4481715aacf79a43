// The reports of a process, and what becomes of them when it stops, is killed, or has no database.
import { hostname } from 'node:os'
import { afterEach, beforeAll, expect, test } from '@jest/globals'
import pino from 'pino'
import type { Sql } from '../../src/db/connection/client.ts'
import { listProcesses } from '../../src/http/operators/overview-figures.ts'
import { startReporting, type ProcessReporter } from '../../src/start/process-reporter.ts'
import type { CircuitReport } from '../../src/domain/deployment/service-process.ts'
import { until } from '../support/until.ts'
import { store } from '../support/own-store.ts'

let sql: Sql
const reporters: ProcessReporter[] = []
const lines: string[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })

beforeAll(async () => {
  ;({ sql } = store)
})
afterEach(async () => {
  for (const reporter of reporters.splice(0)) await reporter.stop()
  lines.length = 0
})
const process = { kind: 'worker', queues: ['payments', 'maintenance'], version: '1.2.3' } as const

function start(own: Partial<Parameters<typeof startReporting>[0]> = {}): ProcessReporter {
  const reporter = startReporting({
    sql,
    log,
    process,
    circuits: () => [],
    intervalMs: 20,
    ...own,
  })
  reporters.push(reporter)
  return reporter
}

const firstProcess = () => until(async () => (await listProcesses(sql))[0])

test('a process is listed until it stops', async () => {
  const reporter = start()

  expect(await firstProcess()).toMatchObject({ ...process, circuits: [], alive: true })
  await reporter.stop()
  expect(await listProcesses(sql)).toEqual([])
})

test('reports again and again, with its circuits', async () => {
  let state: CircuitReport['state'] = 'closed'
  start({ circuits: () => [{ kind: 'provider', state, seconds: 0 }] })
  const first = await firstProcess()
  state = 'open'

  const later = await until(async () => {
    const [seen] = await listProcesses(sql)
    return seen?.circuits[0]?.state === 'open' && seen
  })
  expect(later).toMatchObject({ id: first.id, startedAt: first.startedAt })
  expect(later.seenAt.getTime()).toBeGreaterThan(first.seenAt.getTime())
})

test('is listed again after another process has deleted it', async () => {
  start({ intervalMs: 200 })
  const { id } = await firstProcess()
  await sql`delete from service_processes`

  expect(await firstProcess()).toMatchObject({ id, alive: true })
})

test('deletes only processes that are silent for an hour', async () => {
  await sql`
    insert into service_processes (id, kind, host, queues, version, circuits, started_at, seen_at)
    select gen_random_uuid(), 'api', age, '{}', '1', '[]', now(), now() - age::interval
    from unnest('{59 minutes,61 minutes}'::text[]) as age
  `
  start()
  await until(async () => (await listProcesses(sql))[0]?.alive)

  expect(await listProcesses(sql)).toMatchObject([
    { host: hostname(), alive: true },
    { host: '59 minutes', alive: false },
  ])
  await sql`delete from service_processes`
})

test('failures are logged once, hurt nothing, and end with the outage', async () => {
  await sql`select from service_processes`
  let failures = 0
  let isDown = true
  const failing = new Proxy(sql, {
    apply(target, self, call: unknown[]) {
      if (!isDown) return Reflect.apply(target, self, call)
      failures += 1
      return Promise.reject(new Error('connection refused'))
    },
  })
  start({ sql: failing })

  await until(() => failures >= 3)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('could not report itself')
  isDown = false
  expect(await firstProcess()).toMatchObject({ alive: true })
})

test('stops within a second while the store does not answer', async () => {
  const silent = (() => new Promise(() => {})) as never
  const reporter = start({ sql: silent })
  const startedAt = performance.now()
  await reporter.stop()

  expect(performance.now() - startedAt).toBeLessThan(2_000)
})
