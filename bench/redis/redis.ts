// Runs `npm run bench -- --redis`: replays, first requests and hot keys without a copy of the answer,
// with copies in memory, with copies in Redis, and with Redis alone. Each round measures all of them in
// turn, so that a busy moment of the machine affects all.
import { randomUUID } from 'node:crypto'
import { findFreePort } from '../../dev/ports.ts'
import { startDatabase, type Measuring } from '../benchmark.ts'
import { cpuMsOf } from '../cpu.ts'
import type { Progress } from '../progress.ts'
import { anyOf } from '../requests.ts'
import { seedAll } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { measureHotKey } from '../speed/hot-key.ts'
import { runLoad, type Answers } from '../speed/load.ts'
import { keyed, payOnce, post } from '../speed/payment-requests.ts'
import { drain, withWorkerPaused } from '../speed/unfinished.ts'
import { rounded, spreadOf } from '../spread.ts'
import { UNLIMITED, type BenchTenant } from '../stack.ts'
import { startRedisServer } from './redis-server.ts'
import { showRedisReport, writeRedisReport, type Layer, type RedisRow } from './report.ts'

const REPLAYED_KEYS = 200
const DUPLICATES = [1, 10, 100, 1_000]
const QUICK_DUPLICATES = [1, 10, 100]
const OVERHEAD_SECONDS = 0.7
const UNEXPECTED_ANSWERS = 1

/** An API with one layer. */
interface Place {
  readonly layer: Layer
  readonly url: string
  readonly keys: readonly string[]
}

interface Parts {
  readonly measuring: Measuring<BenchOptions>
  readonly tenant: BenchTenant
  readonly places: readonly Place[]
  readonly postgresPid: number
  readonly redisPid: number
  readonly workerPid: number
}

export async function announceRedis(
  { rounds, seconds, concurrencies }: BenchOptions,
  progress: Progress,
): Promise<void> {
  const measurements = 4 * 2 * concurrencies.length + 3 * duplicatesOf(seconds).length
  const minutes = Math.ceil((rounds * measurements * (seconds + OVERHEAD_SECONDS) + 60) / 60)
  progress.say(`${rounds} rounds with four layers: about ${minutes} minutes`)
}

export async function measureRedis(measuring: Measuring<BenchOptions>): Promise<number> {
  const { stack, options, progress, signal } = measuring
  const machine = await startDatabase(measuring)
  const [tenant, ...others] = await stack.createTenants()
  if (tenant === undefined) throw new Error('the stack has no tenant')
  const seeded = progress.begin('Seeding', options.payments)
  const seeds = { keys: options.payments, tenants: others }
  await seedAll(stack.owner.sql, seeds, seeded)
  progress.say('Starting the services')
  const redis = await startRedisServer()
  signal.addEventListener('abort', () => redis.stop())
  try {
    const services = await startPlaces(measuring, tenant, redis.url)
    const postgresPid = await stack.postgresPid()
    const rows = await measureRounds({
      measuring,
      tenant,
      ...services,
      postgresPid,
      redisPid: redis.pid,
    })
    const unexpected = rows.reduce((sum, row) => sum + row.unexpected, 0)
    const report = { at: new Date().toISOString(), options, machine, unexpected, rows }
    const { json, html } = await writeRedisReport(report)
    process.stdout.write(`\n${showRedisReport(report)}All measurements: ${json}\n${html}\n`)
    return unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
  } finally {
    redis.stop()
  }
}

async function startPlaces(
  { stack, signal }: Measuring<BenchOptions>,
  tenant: BenchTenant,
  redisUrl: string,
): Promise<Pick<Parts, 'places' | 'workerPid'>> {
  const { apiUrl, startApi, worker } = await stack.startServices(UNLIMITED)
  const keys: string[] = []
  while (keys.length < REPLAYED_KEYS) {
    signal.throwIfAborted()
    keys.push((await payOnce(apiUrl, tenant, randomUUID())).key)
  }
  const [memory, redis] = [
    await startApi({ ANSWER_CACHE_SECONDS: '3600' }),
    await startApi({ REDIS_URL: redisUrl }),
  ]
  const port = await findFreePort()
  const settings = { REDIS_URL: redisUrl, PORT: String(port) }
  await stack.start('bench/redis/alone-main.ts', settings)
  const alone = `http://127.0.0.1:${port}`
  for (const key of keys) await execute(alone, tenant, key)
  const places: Place[] = [
    { layer: 'none', url: apiUrl, keys },
    { layer: 'memory', url: memory.url, keys },
    { layer: 'redis', url: redis.url, keys },
    { layer: 'alone', url: alone, keys },
  ]
  return { places, workerPid: worker.pid }
}

async function execute(url: string, tenant: BenchTenant, key: string): Promise<void> {
  const { path, ...request } = post('/v1/payments', keyed(tenant, key))
  const response = await fetch(`${url}${path}`, request)
  if (response.status !== 202) throw new Error(`Redis alone answered ${response.status}`)
}

async function measureRounds(parts: Parts): Promise<RedisRow[]> {
  const { options, progress } = parts.measuring
  const { concurrencies, seconds } = options
  const perRound = 4 * 2 * concurrencies.length + 3 * duplicatesOf(seconds).length
  const progressed = progress.begin('Measuring', options.rounds * perRound)
  const rows: RedisRow[] = []
  for (let round = 1; round <= options.rounds; round += 1) {
    // Each layer is the first one in turn.
    const first = (round - 1) % parts.places.length
    const places = [...parts.places.slice(first), ...parts.places.slice(0, first)]
    for (const measurement of measurementsOf(options)) {
      for (const place of places) {
        if (place.layer === 'alone' && measurement.what === 'hot key') continue
        parts.measuring.signal.throwIfAborted()
        rows.push(await measure(parts, place, measurement, round))
        progressed(rows.length)
      }
    }
  }
  return rows
}

type Measurement = Pick<RedisRow, 'what' | 'level'>

/** Less than a second is too short for a thousand requests at once. */
const duplicatesOf = (seconds: number): number[] => (seconds < 1 ? QUICK_DUPLICATES : DUPLICATES)

function measurementsOf({ concurrencies, seconds }: BenchOptions): Measurement[] {
  return [
    ...concurrencies.flatMap((level) => [
      { what: 'replay' as const, level },
      { what: 'first' as const, level },
    ]),
    ...duplicatesOf(seconds).map((level) => ({ what: 'hot key' as const, level })),
  ]
}

async function measure(
  parts: Parts,
  place: Place,
  { what, level }: Measurement,
  round: number,
): Promise<RedisRow> {
  const { measuring, tenant, postgresPid, redisPid, workerPid } = parts
  const run = async () => {
    const before = [await cpuMsOf([postgresPid]), await cpuMsOf([redisPid])] as const
    const answers = await send(parts, place, { what, level })
    const spent = [await cpuMsOf([postgresPid]), await cpuMsOf([redisPid])] as const
    return { before, answers, spent }
  }
  const { stack, signal } = measuring
  const work = { owner: stack.owner.sql, tenantId: tenant.id, workerPid, signal }
  // What is accepted is not completed: a backlog would affect the next measurement.
  const { before, answers, spent } = await (what === 'replay' ? run() : withWorkerPaused(work, run))
  await drain(work)
  const count = Math.max(1, answers.timesMs.length)
  return {
    layer: place.layer,
    what,
    level,
    round,
    perSecond: Math.round(answers.timesMs.length / answers.seconds),
    p50Ms: spreadOf(answers.timesMs).median,
    postgresMs: rounded((spent[0] - before[0]) / count),
    redisMs: rounded((spent[1] - before[1]) / count),
    unexpected: answers.unexpected,
  }
}

function send(
  { measuring: { stack, options, signal }, tenant }: Parts,
  { url, keys }: Place,
  { what, level }: Measurement,
): Promise<Answers> {
  const { seconds } = options
  if (what === 'hot key') {
    return measureHotKey({ apiUrl: url, tenant, signal }, level, seconds, stack.owner.sql)
  }
  const load = { url, concurrency: level, seconds, signal }
  if (what === 'replay') {
    const next = () => post('/v1/payments', keyed(tenant, anyOf(keys)))
    return runLoad({ ...load, expected: 201, next })
  }
  const prefer = { prefer: 'respond-async' }
  const next = () => post('/v1/payments', { ...keyed(tenant, randomUUID()), ...prefer })
  return runLoad({ ...load, expected: 202, next })
}
