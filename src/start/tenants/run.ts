// The command line of `npm run tenants`: the table of commands and their arguments, the help text,
// and the error messages.
import { ConfigError } from '../../config-formats.ts'
import type { Store } from '../../db/connection/client.ts'
import { scopes } from '../../domain/tenants/api-key.ts'
import { readArguments, UsageError, type Given, type OptionName } from './arguments.ts'
import {
  addCustomers,
  listOwned,
  addKey,
  create,
  GRACE_HOURS,
  GRACE_HOURS_MAX,
  list,
  listKeys,
  RefusedError,
  revokeKey,
  rotateKey,
  setFees,
  setReferences,
  switchTenant,
  type Command,
  limitOptionNames,
  limits,
  providers,
} from './commands.ts'
import { erase } from './erase-customer.ts'

const HELP = `Usage: npm run tenants -- <command> ...

create <name> [--scopes <list>]      Creates a tenant and its first API key.
list                                 Lists all tenants.
disable <tenant>                     Disables a tenant: its API keys stop working.
enable <tenant>                      Enables a tenant again.
fees <tenant> --basis-points <N> --fixed <N>
                                     Sets the fee for future captures: hundredths of
                                     a percent of the amount (0 to 10000), plus a
                                     fixed amount in minor units. A new tenant pays
                                     no fees.
limits <tenant> [--writes <N>] [--reads <N>] [--active-keys <N>] [--stored-keys <N>]
       [--key-length <N>]            Shows the limits of a tenant, or sets them: requests
                                     per window, idempotency keys, and the least length of
                                     a key. 0: no limit; default: the setting of the
                                     service.
policy <tenant> --references <required|optional>
                                     Sets whether every new payment and refund of a
                                     tenant must have a reference. New tenants: optional.
providers <tenant> [<provider>[:<currency>,...]]...
                                     Shows the providers of a tenant's new payments,
                                     or sets them, in their order. A provider with
                                     currencies takes these alone; some need them.
                                     default: the provider of the service.
keys <tenant>                        Lists the API keys of a tenant.
add-key <tenant> [--scopes <list>]   Creates another API key.
rotate-key <key> [--grace-hours <N>] Creates a new API key with the same scopes. The
                                     old key works for ${GRACE_HOURS} more hours by default
                                     (0 to ${GRACE_HOURS_MAX}).
revoke-key <key>                     Revokes an API key at once.
customers <tenant>                   Lists the customers of the provider that a tenant
                                     may charge.
add-customers <tenant> <customer>... [--from <tenant>]
                                     Lets a tenant charge customers of the provider.
                                     One of another tenant moves only from the tenant
                                     that --from names.
erase <tenant> <customer>            Removes a customer's personal data from the ended
                                     payments of a tenant, and everything about them
                                     but the ledger. It reads all payments.

<tenant> is a tenant id (tnt_...), <key> is an API key id (key_...), <customer> is
the provider's id of a customer (cus_...). The secret of
an API key is printed only once, when it is created: the database at DATABASE_URL
stores only its hash. <list> is a comma-separated list of these scopes:
${scopes.slice(0, 4).join(', ')},
${scopes.slice(4).join(', ')}.
Without --scopes an API key has all scopes.

Exit code: 0 success, 1 failure, 2 usage error.
`

const FAILURE = 1
const USAGE_ERROR = 2

interface Entry {
  /** The arguments that the command takes; null when it takes none. */
  readonly about:
    | 'one name'
    | 'the id of one tenant'
    | 'the id of one key'
    | 'the id of one tenant and the ids of customers'
    | 'the id of one tenant and names of providers'
    | null
  readonly options: readonly OptionName[]
  readonly read: (given: Given) => Command
}

const tenant = 'the id of one tenant'
const key = 'the id of one key'
const tenantAndCustomers = 'the id of one tenant and the ids of customers'
const tenantAndProviders = 'the id of one tenant and names of providers'

const commands: Readonly<Record<string, Entry>> = {
  create: { about: 'one name', options: ['scopes'], read: create },
  list: { about: null, options: [], read: () => list },
  disable: { about: tenant, options: [], read: (given) => switchTenant(given, true) },
  enable: { about: tenant, options: [], read: (given) => switchTenant(given, false) },
  fees: { about: tenant, options: ['basis-points', 'fixed'], read: setFees },
  limits: { about: tenant, options: limitOptionNames, read: limits },
  policy: { about: tenant, options: ['references'], read: setReferences },
  providers: { about: tenantAndProviders, options: [], read: providers },
  keys: { about: tenant, options: [], read: listKeys },
  'add-key': { about: tenant, options: ['scopes'], read: addKey },
  'rotate-key': { about: key, options: ['grace-hours'], read: rotateKey },
  'revoke-key': { about: key, options: [], read: revokeKey },
  customers: { about: tenant, options: [], read: listOwned },
  'add-customers': { about: tenantAndCustomers, options: ['from'], read: addCustomers },
  erase: { about: tenantAndCustomers, options: [], read: erase },
}

/** The result of a command: its exit code, and its output for stdout and stderr. */
export interface Outcome {
  readonly code: number
  readonly printed: string
  readonly errorOutput: string
}

/** Runs a command line. The store is opened only for a valid one. */
export async function runCommandLine(
  args: readonly string[],
  open: () => Store | Promise<Store>,
): Promise<Outcome> {
  try {
    return { code: 0, printed: await run(args, open), errorOutput: '' }
  } catch (error) {
    const code = error instanceof UsageError ? USAGE_ERROR : FAILURE
    return { code, printed: '', errorOutput: `tenants: ${reasonOf(error)}\n` }
  }
}

async function run(args: readonly string[], open: () => Store | Promise<Store>): Promise<string> {
  const { command: name, subject, rest, values } = readArguments(args)
  if (values.help === true) return HELP
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (entry === undefined) throw new UsageError(name === '' ? 'no command' : 'no such command')
  const stray = Object.keys(values).find((option) => !entry.options.some((own) => own === option))
  if (stray !== undefined) throw new UsageError(`${name} takes no --${stray}`)
  const isRightCount =
    (subject === '') === (entry.about === null) &&
    (entry.about === tenantAndProviders || rest.length > 0 === (entry.about === tenantAndCustomers))
  if (!isRightCount) {
    throw new UsageError(`${name} takes ${entry.about ?? 'no argument'}`)
  }
  const command = entry.read({ subject, rest, values })
  const store = await open()
  try {
    return await command(store)
  } finally {
    await store.close()
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`
  if (error instanceof ConfigError || error instanceof RefusedError) return error.message
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : error.name
  return `the store failed: ${error.message === '' ? code : error.message}`
}
