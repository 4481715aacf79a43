// `npm run fuzz`: starts the service, sends it bad input and prints a report.
import { runCommand, type Working } from '../../bench/command.ts'
import { Environment } from './subject.ts'
import { type FuzzOptions, HELP, readOptions } from './options.ts'
import { renderReport } from './report.ts'
import { runFuzz } from './run.ts'
import { createFixtures } from './fixtures.ts'

const FAILED = 1

await runCommand<FuzzOptions, Environment>({
  name: 'fuzz',
  help: HELP,
  read: (args) => readOptions(args, Math.random()),
  make: () => Environment.make(),
  work,
})

async function work({
  place: environment,
  options,
  progress,
  signal,
}: Working<FuzzOptions, Environment>): Promise<number> {
  progress.say(`Seed ${options.seed}. Starting PostgreSQL, Stripe stand-in, worker and API`)
  const subject = await environment.start()
  const place = { subject, fixtures: await createFixtures(subject) }
  const outcome = await runFuzz(place, options, progress, signal)
  progress.end()
  process.stdout.write(renderReport(outcome, options.seed))
  return outcome.failed === 0 ? 0 : FAILED
}
