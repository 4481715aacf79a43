// `npm run migrate`: migrates the database at DATABASE_URL to the schema of this version.
import { readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { runProcess } from '../process.ts'
import { migrateDatabase } from '../db/migrations/migrate.ts'

await runProcess('migrate', async () => {
  const { DATABASE_URL, DATABASE_SERVICE_ROLE: role, LOG_LEVEL } = readConfig()
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL is not set: nothing to migrate')
  await migrateDatabase(DATABASE_URL, { role })
  createLog('migrate', LOG_LEVEL).info('the database is up to date')
})
