// Runs `npm run bench`: measures speed, a long load, growing tables, or the effect of slow clients.
import { measureOn, type Measuring } from '../benchmark.ts'
import { runCommand } from '../command.ts'
import type { Progress } from '../progress.ts'
import { announceSlowClients, measureSlowClients } from '../slow-clients/slow-clients.ts'
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
    return await measureOn(stack, runs[context.options.mode].measure, context)
  },
})
