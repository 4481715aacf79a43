// `npm run migrate`: migrates the database at DATABASE_URL to the schema of this version.
import { parseArgs } from 'node:util'
import { ConfigError, readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { runProcess } from '../process.ts'
import { migrateDatabase } from '../db/migrations/migrate.ts'

const HELP = `Usage: npm run migrate [-- --citus]

Migrates the database at DATABASE_URL to the schema of this version.

--citus     Also distributes the tables over the nodes of Citus. Once they are, every later
            migration distributes new tables too, without this option.
-h, --help  Print this help.
`

await runProcess('migrate', async () => {
  const { help, citus } = readArguments(process.argv.slice(2))
  if (help) {
    process.stdout.write(HELP)
    return
  }
  const { DATABASE_URL, DATABASE_SERVICE_ROLE: role, LOG_LEVEL } = readConfig()
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL is not set: nothing to migrate')
  await migrateDatabase(DATABASE_URL, { role, citus })
  createLog('migrate', LOG_LEVEL).info('the database is up to date')
})

/** @throws ConfigError for an unknown option. */
function readArguments(args: readonly string[]): { help: boolean; citus: boolean } {
  const options = {
    citus: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : ''}\n\n${HELP}`)
  }
}
