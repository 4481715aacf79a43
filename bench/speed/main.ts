// Runs `npm run bench`: measures speed, a long load, growing tables, copies of answers, or the effect of
// slow clients.
import { runBenchmark, type Benchmark } from '../benchmark.ts'
import { announceSlowClients, measureSlowClients } from '../slow-clients/slow-clients.ts'
import { announceRedis, measureRedis } from '../redis/redis.ts'
import { announceScale, measureScale } from '../scale/scale.ts'
import { announceSoak, measureSoak } from '../soak/soak.ts'
import { HELP, readArguments, type BenchOptions, type Mode } from './arguments.ts'
import { announceSpeed, measureSpeed } from './speed.ts'

type Run = Pick<Benchmark<BenchOptions>, 'announce' | 'measure'>

const runs: Record<Mode, Run> = {
  speed: { announce: announceSpeed, measure: measureSpeed },
  soak: { announce: announceSoak, measure: measureSoak },
  scale: { announce: announceScale, measure: measureScale },
  redis: { announce: announceRedis, measure: measureRedis },
  'slow-clients': { announce: announceSlowClients, measure: measureSlowClients },
}

await runBenchmark<BenchOptions>({
  name: 'bench',
  help: HELP,
  read: readArguments,
  announce: (options, progress) => runs[options.mode].announce(options, progress),
  measure: (measuring) => runs[measuring.options.mode].measure(measuring),
})
