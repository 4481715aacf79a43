// Runs `npm run bench`: measures speed, a long load, growing tables, copies of answers, or the effect of
// slow clients.
import type { Measuring } from '../benchmark.ts'
import { runCommand } from '../command.ts'
import type { Progress } from '../progress.ts'
import { announceSlowClients, measureSlowClients } from '../slow-clients/slow-clients.ts'
import { announceRedis, measureRedis } from '../redis/redis.ts'
import { announceScale, measureScale } from '../scale/scale.ts'
import { announceSoak, measureSoak } from '../soak/soak.ts'
import { BenchStack } from '../stack.ts'
import { HELP, readArguments, type BenchOptions, type Mode } from './arguments.ts'
import { announceSpeed, measureSpeed } from './speed.ts'

interface Run {
  /** Prints the plan before anything is created. Throws UsageError when the run is not possible. */
  readonly announce: (options: BenchOptions, progress: Progress) => Promise<void>
  /** Measures, reports, and returns the exit code. */
  readonly measure: (measuring: Measuring) => Promise<number>
}

const runs: Record<Mode, Run> = {
  speed: { announce: announceSpeed, measure: measureSpeed },
  soak: { announce: announceSoak, measure: measureSoak },
  scale: { announce: announceScale, measure: measureScale },
  redis: { announce: announceRedis, measure: measureRedis },
  'slow-clients': { announce: announceSlowClients, measure: measureSlowClients },
}

await runCommand<BenchOptions, BenchStack>({
  name: 'bench',
  help: HELP,
  read: readArguments,
  async make(options, progress) {
    await runs[options.mode].announce(options, progress)
    return await BenchStack.make(options.folder)
  },
  async work({ place: stack, ...context }) {
    const { options, signal } = context
    const measured = runs[options.mode].measure({ stack, ...context })
    // After an interrupt the stack is removed under the measurement. Its rejection is not an error.
    measured.catch(() => {})
    try {
      return await Promise.race([measured, untilAborted(signal)])
    } catch (error) {
      if (!signal.aborted) process.stderr.write(`${stack.lastLogLines()}\n`)
      throw error
    }
  },
})

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
