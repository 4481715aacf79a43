// The command line of `npm run tenants`: which commands there are, what each takes, and what is said when
// one cannot be carried out.
import { ConfigError } from '../../config.ts'
import type { Store } from '../../db/connection/client.ts'
import { scopes } from '../../domain/tenants/api-key.ts'
import { readArguments, UsageError, type Given, type OptionName } from './arguments.ts'
import {
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
  switchTenant,
  type Command,
} from './commands.ts'

const HELP = `Usage: npm run tenants -- <command> ...

create <name> [--scopes <list>]      Makes a tenant and its first API key.
list                                 Shows all tenants.
disable <tenant>                     Has none of a tenant's keys work from now on.
enable <tenant>                      Has them work again.
fees <tenant> --basis-points <N> --fixed <N>
                                     Sets the fee for each later capture: hundredths
                                     of a percent of the amount (0 to 10000), and a
                                     fixed amount in minor units. A new tenant pays
                                     none.
keys <tenant>                        Shows a tenant's API keys.
add-key <tenant> [--scopes <list>]   Makes another API key.
rotate-key <key> [--grace-hours <N>] Makes a key that may do the same, and has the
                                     old one work for ${GRACE_HOURS} more hours, or 0 to ${GRACE_HOURS_MAX}.
revoke-key <key>                     Ends a key at once.

A tenant is named by its id, tnt_..., a key by its id, key_.... The secret of a key
is printed once, when it is made: only its hash is stored, in the database at
DATABASE_URL. Scopes are a list with commas, of
${scopes.slice(0, 4).join(', ')},
${scopes.slice(4).join(', ')}; without one a key may do everything.

Exit code: 0 done, 1 not done, 2 not understood.
`

const NOT_DONE = 1
const NOT_UNDERSTOOD = 2

interface Entry {
  /** The one argument that the command takes; null when it takes none. */
  readonly about: 'one name' | 'the id of one tenant' | 'the id of one key' | null
  readonly options: readonly OptionName[]
  readonly read: (given: Given) => Command
}

const tenant = 'the id of one tenant'
const key = 'the id of one key'

const commands: Readonly<Record<string, Entry>> = {
  create: { about: 'one name', options: ['scopes'], read: create },
  list: { about: null, options: [], read: () => list },
  disable: { about: tenant, options: [], read: (given) => switchTenant(given, true) },
  enable: { about: tenant, options: [], read: (given) => switchTenant(given, false) },
  fees: { about: tenant, options: ['basis-points', 'fixed'], read: setFees },
  keys: { about: tenant, options: [], read: listKeys },
  'add-key': { about: tenant, options: ['scopes'], read: addKey },
  'rotate-key': { about: key, options: ['grace-hours'], read: rotateKey },
  'revoke-key': { about: key, options: [], read: revokeKey },
}

/** What becomes of a command: its exit code, and what belongs on stdout and on stderr. */
export interface Outcome {
  readonly code: number
  readonly printed: string
  readonly complaint: string
}

/** Carries out a command line; nothing is opened for one that is not understood. */
export async function runCommandLine(args: readonly string[], open: () => Store): Promise<Outcome> {
  try {
    return { code: 0, printed: await run(args, open), complaint: '' }
  } catch (error) {
    const code = error instanceof UsageError ? NOT_UNDERSTOOD : NOT_DONE
    return { code, printed: '', complaint: `tenants: ${reasonOf(error)}\n` }
  }
}

async function run(args: readonly string[], open: () => Store): Promise<string> {
  const { command: name, subject, rest, values } = readArguments(args)
  if (values.help === true) return HELP
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (entry === undefined) throw new UsageError(name === '' ? 'no command' : 'no such command')
  const stray = Object.keys(values).find((option) => !entry.options.some((own) => own === option))
  if (stray !== undefined) throw new UsageError(`${name} takes no --${stray}`)
  const isRightCount = (subject === '') === (entry.about === null) && rest.length === 0
  if (!isRightCount) {
    throw new UsageError(`${name} takes ${entry.about ?? 'no argument'}`)
  }
  const command = entry.read({ subject, values })
  const store = open()
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
