// `npm run model`: the model checker. Explores the state spaces of the product, compares the
// in-memory store with PostgreSQL, checks that the mutants are found, and prints a report.
import { runCommand, type Working } from '../../bench/command.ts'
import { ScratchPostgres } from '../scratch-postgres.ts'
import { renderReport, runTasks, type Task } from './command/tasks.ts'
import { HELP, type ModelOptions, readOptions } from './command/options.ts'

const FAILED = 1

await runCommand<ModelOptions, ScratchPostgres>({
  name: 'model',
  help: HELP,
  read: (args) => readOptions(args, Math.random()),
  make: () => ScratchPostgres.make('model'),
  work,
})

async function work({
  place: postgres,
  options,
  progress,
  signal,
}: Working<ModelOptions, ScratchPostgres>): Promise<number> {
  progress.say(`Seed ${options.seed}`)
  const startedAt = performance.now()
  const tasks = await planTasks(options, postgres)
  const { processes } = options
  const verdicts = await runTasks(tasks, { processes, progress, signal })
  progress.end()
  process.stdout.write(renderReport(verdicts, (performance.now() - startedAt) / 1_000))
  return verdicts.every(({ passed }) => passed) ? 0 : FAILED
}

/** Longest tasks first, so that the processes finish at about the same time. */
async function planTasks(options: ModelOptions, postgres: ScratchPostgres): Promise<Task[]> {
  const { histories: count, seed } = options
  return [
    ...options.spaces.map((name): Task => ({ kind: 'space', name })),
    ...(count > 0
      ? [{ kind: 'histories', url: await postgres.start(), seed, count } as const]
      : []),
    ...options.mutants.map((name): Task => ({ kind: 'mutant', name })),
  ]
}
