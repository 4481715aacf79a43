// `npm run tenants`: makes tenants for a standalone API, with the key that names them, and sets what
// they pay.
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { readConfig } from './config.ts'
import { openStore, type Store } from './db/client.ts'
import { createTenant, setTenantFees } from './db/tenants.ts'
import { runProcess } from './process.ts'
import { requireDatabaseUrl } from './wiring.ts'

const HELP = `Usage: npm run tenants -- create <name>
       npm run tenants -- fees <tenant-id> --basis-points <N> --fixed <N>

create  Makes a tenant in the database at DATABASE_URL and prints its API key,
        which is shown this once: only its hash is stored.
fees    Sets the fee for each later capture of a tenant: hundredths of a percent
        of the amount (0 to 10000), and a fixed amount in minor units. A new
        tenant pays none.
`

/** Of the 192 bits, those behind the public prefix are the secret: 140. */
const KEY_BYTES = 24

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

type Command = (store: Store) => Promise<string>

await runProcess('tenants', async () => {
  const args = process.argv.slice(2)
  if (args[0] === '--help' || args[0] === '-h') {
    process.stdout.write(HELP)
    return
  }
  const command = readCommand(args)
  if (command === undefined) {
    process.stderr.write(HELP)
    process.exitCode = 2
    return
  }
  process.stdout.write(await withStore(command))
})

/** What the arguments ask for, or undefined when they ask for nothing that is known. */
function readCommand(args: readonly string[]): Command | undefined {
  const [command, subject = '', ...rest] = args
  if (command === 'create' && subject.trim() !== '' && rest.length === 0) {
    return (store) => create(store, subject)
  }
  if (command !== 'fees' || !UUID.test(subject)) return undefined
  const fees = readFees(rest)
  return fees && ((store) => setFees(store, subject, fees))
}

type Fees = Parameters<typeof setTenantFees>[2]

function readFees(args: readonly string[]): Fees | undefined {
  const options = { 'basis-points': { type: 'string' }, fixed: { type: 'string' } } as const
  try {
    const { values } = parseArgs({ args: [...args], options })
    const basisPoints = readCount(values['basis-points'])
    const fixedMinor = readCount(values.fixed)
    if (basisPoints === undefined || basisPoints > 10_000 || fixedMinor === undefined) {
      return undefined
    }
    return { basisPoints, fixedMinor }
  } catch {
    // An unknown option, or one without its value: the help says which there are.
    return undefined
  }
}

function readCount(text = ''): number | undefined {
  return /^\d{1,8}$/.test(text) ? Number(text) : undefined
}

async function withStore(command: Command): Promise<string> {
  const config = readConfig()
  const store = openStore({
    url: requireDatabaseUrl(config),
    applicationName: 'atomic-payments tenants',
    poolSize: 1,
    timeoutMs: config.STORE_TIMEOUT_MS,
  })
  try {
    return await command(store)
  } finally {
    await store.close()
  }
}

async function create(store: Store, name: string): Promise<string> {
  const apiKey = `sk_${randomBytes(KEY_BYTES).toString('hex')}`
  const id = await createTenant(store, { name, apiKey })
  return `tenant  ${id}\napi key ${apiKey}\n`
}

async function setFees(store: Store, tenantId: string, fees: Fees): Promise<string> {
  if (!(await setTenantFees(store, tenantId, fees)))
    throw new Error(`there is no tenant ${tenantId}`)
  return `tenant  ${tenantId}\nfees    ${fees.basisPoints} basis points and ${fees.fixedMinor} for each capture\n`
}
