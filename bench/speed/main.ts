// `npm run bench`: how fast the service is.
import { runCommand } from '../command.ts'
import { HELP, readArguments, type BenchOptions } from './arguments.ts'
import { announceSpeed, measureSpeed } from './speed.ts'

await runCommand<BenchOptions>({
  name: 'bench',
  help: HELP,
  read: readArguments,
  announce: announceSpeed,
  measure: measureSpeed,
})
