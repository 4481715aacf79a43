// `npm run tenants`: makes tenants for a standalone API, with the key that names them.
import { randomBytes } from 'node:crypto'
import { readConfig } from './config.ts'
import { openStore } from './db/client.ts'
import { createTenant } from './db/tenants.ts'
import { runProcess } from './process.ts'
import { requireDatabaseUrl } from './wiring.ts'

const HELP = `Usage: npm run tenants -- create <name>

Makes a tenant in the database at DATABASE_URL and prints its API key, which is
shown this once: only its hash is stored.
`

/** Of the 192 bits, those behind the public prefix are the secret: 140. */
const KEY_BYTES = 24

await runProcess('tenants', async () => {
  const [command, name, ...rest] = process.argv.slice(2)
  if (command === '--help' || command === '-h') {
    process.stdout.write(HELP)
  } else if (command === 'create' && name !== undefined && name.trim() !== '' && !rest.length) {
    await create(name)
  } else {
    process.stderr.write(HELP)
    process.exitCode = 2
  }
})

async function create(name: string): Promise<void> {
  const config = readConfig()
  const store = openStore({
    url: requireDatabaseUrl(config),
    applicationName: 'atomic-payments tenants',
    poolSize: 1,
    timeoutMs: config.STORE_TIMEOUT_MS,
  })
  try {
    const apiKey = `sk_${randomBytes(KEY_BYTES).toString('hex')}`
    const id = await createTenant(store, { name, apiKey })
    process.stdout.write(`tenant  ${id}\napi key ${apiKey}\n`)
  } finally {
    await store.close()
  }
}
