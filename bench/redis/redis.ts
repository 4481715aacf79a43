// Runs `npm run bench -- --redis`: replays, first requests and hot keys without a copy of the answer,
// with copies in memory, with copies in Redis, and with Redis alone.
import { findFreePort } from '../../dev/ports.ts'
import type { Measuring } from '../benchmark.ts'
import type { Progress } from '../progress.ts'
import { publish } from '../report.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import {
  compareConditions,
  runConditions,
  tableOfConditions,
  type Condition,
} from '../speed/conditions.ts'
import { keyed, post } from '../speed/payment-requests.ts'
import type { Measurement, RoundParts } from '../speed/rounds.ts'
import { startMeasured } from '../speed/service.ts'
import { subjectNamed } from '../speed/subjects.ts'
import { countUnexpected, plotsOfRows, tableOfRows } from '../speed/summary.ts'
import { startRedisServer, type RedisProcess } from './redis-server.ts'

const DUPLICATES = [1, 10, 100, 1_000]
const QUICK_DUPLICATES = [1, 10, 100]
const OVERHEAD_SECONDS = 0.7
const UNEXPECTED_ANSWERS = 1
const POSTGRES = 'PostgreSQL'
const LAYERS = 4

export async function announceRedis(options: BenchOptions, progress: Progress): Promise<void> {
  const { rounds, seconds } = options
  const count = LAYERS * measurementsOf(options).length
  const minutes = Math.ceil((rounds * count * (seconds + OVERHEAD_SECONDS) + 60) / 60)
  progress.say(`${rounds} rounds with four layers: about ${minutes} minutes`)
}

export async function measureRedis(measuring: Measuring): Promise<number> {
  const { options, signal } = measuring
  const { machine, services, parts } = await startMeasured(measuring)
  const redis = await startRedisServer()
  signal.addEventListener('abort', () => redis.stop())
  try {
    const layers = await startLayers(measuring, parts, services.startApi, redis)
    const rows = await runConditions(layers, measurementsOf(options), options.rounds)
    const [unexpected, figures] = [countUnexpected(rows), compareConditions(rows, POSTGRES)]
    const at = new Date().toISOString()
    await publish(
      'redis',
      { at, options, machine, unexpected, figures, rows },
      {
        title: 'When does Redis help?',
        conditions: `${options.rounds} rounds of ${options.seconds} s each; Node's time has that of Redis`,
        tables: [tableOfRows(rows), tableOfConditions(figures, POSTGRES)],
        plots: plotsOfRows(rows),
      },
    )
    return unexpected === 0 ? 0 : UNEXPECTED_ANSWERS
  } finally {
    redis.stop()
  }
}

async function startLayers(
  { stack }: Measuring,
  parts: RoundParts,
  startApi: (own: Record<string, string>) => Promise<{ url: string; process: { pid: number } }>,
  { url: redisUrl, pid: redisPid }: RedisProcess,
): Promise<Condition[]> {
  const memory = await startApi({ ANSWER_CACHE_SECONDS: '3600' })
  const redis = await startApi({ REDIS_URL: redisUrl })
  const port = await findFreePort()
  const settings = { REDIS_URL: redisUrl, PORT: String(port) }
  const alone = await stack.start('bench/redis/alone-main.ts', settings)
  const aloneUrl = `http://127.0.0.1:${port}`
  for (const { key } of parts.place.completed) await execute(aloneUrl, parts, key)
  const at = (apiUrl: string, ...pids: readonly number[]): RoundParts => ({
    ...parts,
    place: { ...parts.place, apiUrl },
    nodePids: [...parts.nodePids, ...pids],
  })
  return [
    { name: POSTGRES, parts },
    { name: 'with memory', parts: at(memory.url, memory.process.pid) },
    { name: 'with Redis', parts: at(redis.url, redis.process.pid, redisPid) },
    // A request that executes there is over at once, so that no key is in progress.
    { name: 'Redis alone', parts: at(aloneUrl, alone.pid, redisPid), without: ['hot_key'] },
  ]
}

async function execute(url: string, { place: { tenant } }: RoundParts, key: string): Promise<void> {
  const { path, ...request } = post('/v1/payments', keyed(tenant, key))
  const response = await fetch(`${url}${path}`, request)
  if (response.status !== 202) throw new Error(`Redis alone answered ${response.status}`)
}

function measurementsOf({ concurrencies, seconds }: BenchOptions): Measurement[] {
  // Less than a second is too short for a thousand requests at once.
  const duplicates = seconds < 1 ? QUICK_DUPLICATES : DUPLICATES
  const levels = { replay: concurrencies, accept: concurrencies, hot_key: duplicates }
  return (['replay', 'accept', 'hot_key'] as const).flatMap((name) =>
    levels[name].map((concurrency) => ({ subject: subjectNamed(name), concurrency, seconds })),
  )
}
