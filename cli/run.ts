// Runs one command line of `npm run atomic`.
import type { Writable } from 'node:stream'
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { explain } from './commands/explain.ts'
import { replay } from './commands/replay.ts'
import { resolve } from './commands/resolve.ts'
import { resume } from './commands/resume.ts'
import { tail } from './commands/tail.ts'
import { unknown } from './commands/unknown.ts'
import { connect, type Environment } from './connection.ts'
import { UsageError } from './errors.ts'
import { openOutput } from './output.ts'
import { reportError, type Sent } from './report-error.ts'
import { HELP, helpOf, type CommandName } from './usage.ts'

export interface CommandLine {
  readonly words: readonly string[]
  readonly environment: Environment
  readonly stdout: Writable
  readonly stderr: Writable
}

const commands: Record<CommandName, Command> = { unknown, explain, resume, resolve, replay, tail }

/** The commands that ask the service to change something. */
const CHANGES: readonly CommandName[] = ['resume', 'resolve', 'replay']

/** Returns the exit code. */
export async function run({ words, environment, stdout, stderr }: CommandLine): Promise<number> {
  const output = openOutput(stdout, stderr, words.includes('--json'))
  let sent: Sent | undefined
  try {
    const request = readArguments(words)
    if (request.command === undefined) {
      output.help(HELP)
      if (!request.isHelp) throw new UsageError('name a command')
      return 0
    }
    if (request.isHelp) {
      output.help(helpOf(request.command))
      return 0
    }
    const { client, url } = await connect(request.options, environment)
    sent = { service: url, changes: CHANGES.includes(request.command) }
    await commands[request.command]({ ...request, client, output })
    return 0
  } catch (error) {
    return reportError(error, output, sent)
  }
}
