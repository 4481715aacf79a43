// `npm run fuzz`: starts the service, sends it bad input and prints a report.
import { runCommand, type Working } from '../../bench/command.ts'
import { ScratchPostgres } from '../scratch-postgres.ts'
import { createFixtures } from './fixtures.ts'
import { type FuzzOptions, HELP, readOptions } from './options.ts'
import { renderReport } from './report.ts'
import { runFuzz } from './run.ts'
import { startSubject } from './subject.ts'

const FAILED = 1

await runCommand<FuzzOptions, ScratchPostgres>({
  name: 'fuzz',
  help: HELP,
  read: (args) => readOptions(args, Math.random()),
  make: () => ScratchPostgres.make('fuzz'),
  work,
})

async function work({
  place: postgres,
  options,
  progress,
  signal,
}: Working<FuzzOptions, ScratchPostgres>): Promise<number> {
  progress.say(`Seed ${options.seed}. Starting PostgreSQL, Stripe stand-in, worker and API`)
  const subject = await startSubject(await postgres.start(), postgres.folder)
  try {
    const place = { subject, fixtures: await createFixtures(subject) }
    const outcome = await runFuzz(place, options, progress, signal)
    progress.end()
    process.stdout.write(renderReport(outcome, options.seed))
    return outcome.failed === 0 ? 0 : FAILED
  } finally {
    await subject.stop()
  }
}
