// `npm run fuzz`: sends bad input to a service of its own, and says what has come of it.
import { runCommand, type Working } from '../../bench/command.ts'
import { Ground } from './ground.ts'
import { HELP, readOptions, type FuzzOptions } from './options.ts'
import { renderReport } from './report.ts'
import { runFuzz } from './run.ts'
import { openShop } from './shop.ts'

const FAILED = 1

await runCommand<FuzzOptions, Ground>({
  name: 'fuzz',
  help: HELP,
  read: (args) => readOptions(args, Math.random()),
  make: () => Ground.make(),
  work,
})

async function work({
  place: ground,
  options,
  progress,
  signal,
}: Working<FuzzOptions, Ground>): Promise<number> {
  progress.say(`Seed ${options.seed}. Starting PostgreSQL, mock provider, worker and API`)
  const subject = await ground.start()
  const place = { subject, shop: await openShop(subject) }
  const outcome = await runFuzz(place, options, progress, signal)
  progress.end()
  process.stdout.write(renderReport(outcome, options.seed))
  return outcome.failed === 0 ? 0 : FAILED
}
