// The process behind `npm run new-operation`: writes the folder of a new operation with a test to start from,
// adds it to the list, and says what is left to do.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { namesOf, NameError } from './names.ts'
import { addToList, filesOf, nextSteps } from './templates.ts'

const LIST = 'src/operations/index.ts'

const HELP = `Usage: npm run new-operation -- payment.<verb>

Writes src/operations/<verb>-payment/ (phases, endpoint, contract) and the fixture of its tests, and adds the
operation to ${LIST}. What it writes works: it cancels the payment at the provider,
until you name another provider call. Then it says what is left to do.

Example: npm run new-operation -- payment.release
`

process.exitCode = main(process.argv.slice(2))

function main([name, ...others]: string[]): number {
  if (name === '--help') {
    process.stdout.write(HELP)
    return 0
  }
  try {
    if (name === undefined || others.length > 0) throw new NameError('one name is required')
    write(name)
    return 0
  } catch (error) {
    if (!(error instanceof NameError)) throw error
    process.stderr.write(`new-operation: ${error.message}\n\n${HELP}`)
    return 2
  }
}

function write(operation: string): void {
  const names = namesOf(operation)
  const files = filesOf(names)
  const existingPath = Object.keys(files).find((path) => existsSync(path))
  if (existingPath !== undefined) throw new NameError(`${existingPath} is there already`)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    process.stdout.write(`wrote   ${path}\n`)
  }
  writeFileSync(LIST, addToList(readFileSync(LIST, 'utf8'), names))
  process.stdout.write(`changed ${LIST}\n`)
  // The tests hold every answer of the API to openapi.yaml.
  execFileSync('npm', ['run', '--silent', 'openapi'], { stdio: 'inherit' })
  process.stdout.write(`changed openapi.yaml\n\n${nextSteps(names)}`)
}
