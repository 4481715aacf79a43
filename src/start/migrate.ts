// `npm run migrate`: migrates the database at DATABASE_URL to the schema of this version.
import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { runProcess } from '../process.ts'
import { migrateDatabase } from '../migrations/migrate.ts'

const HELP = `Usage: npm run migrate [-- --citus]

Migrates the database at DATABASE_URL to the schema of this version.

--citus     Also distributes the tables over the nodes of Citus. Once they are, every later
            migration distributes new tables too, without this option.
-h, --help  Print this help.

Exit code: 0 migrated, 1 not migrated, 2 usage error.
`

const values = readOptions(process.argv.slice(2))
if (values === undefined) process.exitCode = 2
else if (values.help === true) process.stdout.write(HELP)
else await migrate(values.citus === true)

async function migrate(citus: boolean): Promise<void> {
  await runProcess('migrate', async () => {
    const { DATABASE_URL, DATABASE_SERVICE_ROLE: role, LOG_LEVEL } = readConfig()
    if (DATABASE_URL === undefined) throw new Error('DATABASE_URL is not set: nothing to migrate')
    await migrateDatabase(DATABASE_URL, { role, citus })
    createLog('migrate', LOG_LEVEL).info('the database is up to date')
  })
}

/** Undefined after it has reported a usage error. */
function readOptions(args: readonly string[]) {
  try {
    const options = { citus: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    process.stderr.write(`migrate: ${(error as Error).message}\n\n${HELP}`)
    return undefined
  }
}
