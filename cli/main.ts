// `npm run atomic`: the console in a terminal. It reads the environment and runs one command.
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { explain } from './commands/explain.ts'
import { replay } from './commands/replay.ts'
import { resolve } from './commands/resolve.ts'
import { resume } from './commands/resume.ts'
import { tail } from './commands/tail.ts'
import { unknown } from './commands/unknown.ts'
import { connect } from './connection.ts'
import { UsageError } from './errors.ts'
import { openOutput } from './output.ts'
import { reportError, type Sent } from './report-error.ts'
import { HELP, helpOf, type CommandName } from './usage.ts'

const commands: Record<CommandName, Command> = { unknown, explain, resume, resolve, replay, tail }

/** The commands that ask the service to change something. */
const CHANGES: readonly CommandName[] = ['resume', 'resolve', 'replay']

// A reader such as `head` that has enough ends the command, with the exit code that it has by then.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit())

const words = process.argv.slice(2)
const output = openOutput(process.stdout, process.stderr, words.includes('--json'))

let sent: Sent | undefined

try {
  await run()
} catch (error) {
  process.exitCode = reportError(error, output, sent)
}

async function run(): Promise<void> {
  const request = readArguments(words)
  if (request.command === undefined) {
    output.help(HELP)
    if (!request.isHelp) throw new UsageError('name a command')
    return
  }
  if (request.isHelp) {
    output.help(helpOf(request.command))
    return
  }
  const { client, url } = await connect(request.options, process.env)
  sent = { service: url, changes: CHANGES.includes(request.command) }
  await commands[request.command]({ ...request, client, output })
}
