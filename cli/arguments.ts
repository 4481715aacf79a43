// Reads the command line. No message repeats an argument: it may be a key that was pasted there.
import { parseArgs } from 'node:util'
import type { Options } from './command.ts'
import { UsageError } from './errors.ts'
import { isCommand, usages, type CommandName, type Usage } from './usage.ts'

export interface Arguments {
  readonly command: CommandName | undefined
  readonly isHelp: boolean
  /** What the command is about; empty for a command that takes nothing. */
  readonly subject: string
  readonly options: Options
}

const TEXT = { type: 'string' } as const
const FLAG = { type: 'boolean' } as const

/** The options of every command. */
const GENERAL = ['json', 'help', 'url', 'key-file']

export function readArguments(words: readonly string[]): Arguments {
  const { values, positionals } = parse(words)
  const [command, ...subjects] = positionals
  const isHelp = values.help === true || command === 'help'
  if (command === undefined || command === 'help') {
    const [topic] = subjects
    return { command: knownOrNone(topic), isHelp, subject: '', options: {} }
  }
  if (!isCommand(command)) throw new UsageError('there is no such command')
  if (isHelp) return { command, isHelp, subject: '', options: {} }
  const { subject, options }: Usage = usages[command]
  const stranger = Object.keys(values).find((name) => ![...GENERAL, ...options].includes(name))
  if (stranger !== undefined) throw new UsageError(`${command} has no option --${stranger}`)
  if (subjects.length !== (subject === undefined ? 0 : 1)) {
    throw new UsageError(`${command} takes ${subject ?? 'no argument'}`)
  }
  return { command, isHelp, subject: subjects[0] ?? '', options: values }
}

function knownOrNone(topic: string | undefined): CommandName | undefined {
  return topic !== undefined && isCommand(topic) ? topic : undefined
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        json: FLAG,
        help: { ...FLAG, short: 'h' },
        url: TEXT,
        'key-file': TEXT,
        tenant: TEXT,
        since: TEXT,
        'provider-id': TEXT,
        'did-not-happen': TEXT,
        note: TEXT,
        unverified: FLAG,
      },
    })
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError('there is no such option')
    if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
      throw new UsageError('an option lacks its value, or has one too many')
    }
    throw error
  }
}
