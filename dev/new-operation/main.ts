// The process behind `npm run new-operation`: writes the folder of a new operation with a test to start from,
// adds it to the list, and says what is left to do.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { namesOf, NameError, newEvent } from './names.ts'
import { addToEvents, addToList, filesOf, nextSteps } from './templates.ts'

const LIST = 'src/operations/index.ts'
const EVENTS = 'src/domain/events/event-types.ts'

/** What `npm run openapi` writes. */
const GENERATED = [
  'openapi.yaml',
  'openapi-operators.yaml',
  'client/schema.ts',
  'client/operators-schema.ts',
]

const HELP = `Usage: npm run new-operation -- payment.<verb> [--keeps-status payment.<event>]

Writes src/operations/<verb>-payment/ (phases and endpoint) and the fixture of its tests, and adds the
operation to ${LIST}. What it writes works: it cancels the payment at the provider,
until you name another provider call. Then it says what is left to do.

With --keeps-status, the operation leaves the status of the payment as it is, calls no provider, and
announces this event, which is added to ${EVENTS}.

Examples: npm run new-operation -- payment.release
          npm run new-operation -- payment.send-receipt
          npm run new-operation -- payment.flag --keeps-status payment.flagged
`

process.exitCode = main(process.argv.slice(2))

function main(args: string[]): number {
  if (args[0] === '--help') {
    process.stdout.write(HELP)
    return 0
  }
  try {
    const options = { 'keeps-status': { type: 'string' } } as const
    const { positionals, values } = parseArgs({ args, allowPositionals: true, options })
    const [name, ...others] = positionals
    if (name === undefined || others.length > 0) throw new NameError('one name is required')
    write(name, values['keeps-status'])
    return 0
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!(error instanceof NameError) && !code.startsWith('ERR_PARSE_ARGS')) throw error
    process.stderr.write(`new-operation: ${message}\n\n${HELP}`)
    return 2
  }
}

function write(operation: string, keepsStatus: string | undefined): void {
  const names = namesOf(operation)
  const event = keepsStatus === undefined ? undefined : newEvent(keepsStatus)
  const files = filesOf(names, event)
  const existingPath = Object.keys(files).find((path) => existsSync(path))
  if (existingPath !== undefined) throw new NameError(`${existingPath} is there already`)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    process.stdout.write(`wrote   ${path}\n`)
  }
  writeFileSync(LIST, addToList(readFileSync(LIST, 'utf8'), names))
  process.stdout.write(`changed ${LIST}\n`)
  if (event !== undefined) {
    writeFileSync(EVENTS, addToEvents(readFileSync(EVENTS, 'utf8'), event))
    process.stdout.write(`changed ${EVENTS}\n`)
  }
  // A long name breaks lines that a short one does not.
  execFileSync('npm', ['run', '--silent', 'format', '--', LIST, EVENTS, ...Object.keys(files)])
  // The tests hold every answer of the API to openapi.yaml.
  execFileSync('npm', ['run', '--silent', 'openapi'], { stdio: 'inherit' })
  for (const path of GENERATED) process.stdout.write(`changed ${path}\n`)
  process.stdout.write(`\n${nextSteps(names, event)}`)
}
