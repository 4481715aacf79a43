// Runs `npm run bench:copies`: replays, first requests and hot keys without a copy of the answer, with
// copies in memory, with copies in Redis, and with Redis alone.
import { findFreePort } from '../../../dev/ports.ts'
import { measureOn, type Measuring } from '../../../bench/benchmark.ts'
import { runCommand } from '../../../bench/command.ts'
import { UsageError } from '../../../bench/options.ts'
import type { Progress } from '../../../bench/progress.ts'
import { publish } from '../../../bench/report.ts'
import { readArguments, type BenchOptions } from '../../../bench/speed/arguments.ts'
import {
  compareConditions,
  runConditions,
  tableOfConditions,
} from '../../../bench/speed/conditions.ts'
import { keyed, post } from '../../../bench/speed/payment-requests.ts'
import type { Condition, Measurement, RoundParts } from '../../../bench/speed/rounds.ts'
import { startMeasured } from '../../../bench/speed/service.ts'
import { subjectNamed } from '../../../bench/speed/subjects.ts'
import { countUnexpected, plotsOfRows, tableOfRows } from '../../../bench/speed/summary.ts'
import { BenchStack } from '../../../bench/stack.ts'
import { startRedisServer, type RedisProcess } from './redis-server.ts'

const DUPLICATES = [1, 10, 100, 1_000]
const QUICK_DUPLICATES = [1, 10, 100]
const OVERHEAD_SECONDS = 0.7
const UNEXPECTED_ANSWERS = 1
const POSTGRES = 'PostgreSQL'
const LAYERS = 4

const HELP = `Usage: npm run bench:copies -- [--quick] [--seconds <n>] [--rounds <n>] [--payments <n>] [--folder <dir>]

Measures replays, first requests and one key at once without copies of answers, with copies
in memory, in Redis, and with Redis alone. Needs redis-server. Starts everything that it
measures. Prints a table and writes bench-report/redis.json and redis.html. The options and
the exit codes are those of npm run bench.
`

await runCommand<BenchOptions, BenchStack>({
  name: 'bench:copies',
  help: HELP,
  read(args) {
    const options = readArguments(args)
    if (options.mode === 'speed' && !options.peers) return options
    throw new UsageError(
      'only --quick, --seconds, --rounds, --payments and --folder have an effect',
    )
  },
  async make(options, progress) {
    announce(options, progress)
    return await BenchStack.make(options.folder)
  },
  work: ({ place, ...context }) => measureOn(place, measureLayers, context),
})

function announce(options: BenchOptions, progress: Progress): void {
  const { rounds, seconds } = options
  const count = LAYERS * measurementsOf(options).length
  const minutes = Math.ceil((rounds * count * (seconds + OVERHEAD_SECONDS) + 60) / 60)
  progress.say(`${rounds} rounds with four layers: about ${minutes} minutes`)
}

async function measureLayers(measuring: Measuring): Promise<number> {
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
  const alone = await stack.start('extras/answer-copies/bench/alone-main.ts', settings)
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
