// `npm run doctor`: checks a deployment with the settings of its processes, and says what to do. It
// changes nothing.
import { parseArgs } from 'node:util'
import { ConfigError } from '../config-formats.ts'
import { failure, type Check } from '../domain/deployment/database-checks.ts'
import { checkDatabase } from './doctor/database.ts'
import { checkProviders, checkSecrets } from './doctor/provider.ts'
import { readConfigBesideStack } from './stack-settings.ts'

const HELP = `Usage: npm run doctor -- [--json]

Checks a deployment, with the settings of its processes in the environment: the
version, roles, protection, durability, timeouts, sessions, TLS and clock of the
database, its migrations, the provider's key, account and time, and the secrets.
It changes nothing.

--json  Prints the checks as JSON.

Exit code: 0 no failure, 1 a failure, 2 usage error. A start of the API or of a
worker refuses a database with a failure.
`

const NO_DATABASE =
  'Set it: see docs/configuration.md. Or run "npm start" with the same DATA_DIR at the same time.'

const FAILED = 1
const USAGE_ERROR = 2

process.exitCode = await examine(process.argv.slice(2))

async function examine(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (options === undefined) return USAGE_ERROR
  if (options.help === true) {
    process.stdout.write(HELP)
    return 0
  }
  const checks = await runChecks()
  process.stdout.write(
    options.json === true ? `${JSON.stringify(checks, null, 2)}\n` : show(checks),
  )
  return checks.some(({ verdict }) => verdict === 'failure') ? FAILED : 0
}

function readOptions(args: readonly string[]) {
  try {
    const options = { help: { type: 'boolean' }, json: { type: 'boolean' } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    process.stderr.write(`doctor: ${(error as Error).message}\n\n${HELP}`)
    return undefined
  }
}

async function runChecks(): Promise<Check[]> {
  try {
    const config = await readConfigBesideStack()
    const { DATABASE_URL: url } = config
    const database =
      url === undefined
        ? [failure('database', 'DATABASE_URL is not set', NO_DATABASE)]
        : await checkDatabase(config, url)
    return [...database, ...(await checkProviders(config)), ...checkSecrets(config)]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [failure('settings', error.message, 'Correct them: see docs/configuration.md.')]
  }
}

function show(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  return checks
    .map(({ name, verdict, found, advice }) => {
      const line = `${verdict.padEnd('warning'.length)}  ${name.padEnd(width)}  ${found}\n`
      return advice === undefined ? line : `${line}${' '.repeat(9 + width + 2)}${advice}\n`
    })
    .join('')
}
