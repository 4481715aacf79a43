// `npm run tenants`: creates, lists and disables tenants; creates, lists, rotates and revokes their
// API keys; and sets their fees and limits.
import { openStore, type Store } from '../db/connection/client.ts'
import { runCommandLine } from './tenants/run.ts'
import { requireDatabaseUrl } from '../wiring.ts'
import { readConfigBesideStack } from './stack-settings.ts'

const { code, printed, errorOutput } = await runCommandLine(process.argv.slice(2), open)
process.stdout.write(printed)
process.stderr.write(errorOutput)
process.exitCode = code

/**
 * Connects as the owner of the database, because the service's role may not, for example, set fees.
 */
async function open(): Promise<Store> {
  const config = await readConfigBesideStack()
  return openStore({
    url: requireDatabaseUrl(config),
    applicationName: 'atomic-payments tenants',
    poolSize: 1,
    timeoutMs: config.STORE_TIMEOUT_MS,
  })
}
