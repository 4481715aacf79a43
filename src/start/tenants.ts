// `npm run tenants`: makes tenants and the API keys that name them, shows, rotates and ends them, and sets
// what tenants pay.
import { readConfig } from '../config.ts'
import { openStore, type Store } from '../db/connection/client.ts'
import { runCommandLine } from './tenants/run.ts'
import { requireDatabaseUrl } from '../wiring.ts'

const { code, printed, complaint } = await runCommandLine(process.argv.slice(2), open)
process.stdout.write(printed)
process.stderr.write(complaint)
process.exitCode = code

/** As the owner of the database: what the service may not do, such as to set fees, is done from here. */
function open(): Store {
  const config = readConfig()
  return openStore({
    url: requireDatabaseUrl(config),
    applicationName: 'atomic-payments tenants',
    poolSize: 1,
    timeoutMs: config.STORE_TIMEOUT_MS,
  })
}
