// `npm run rotate-encryption`: encrypts every stored secret and response with the first key of
// ENCRYPTION_KEYS, and says which older keys are still needed. It can be stopped and run again.
import { parseArgs } from 'node:util'
import { SingleBar } from 'cli-progress'
import { readConfig } from '../config.ts'
import { openStore, type Sql } from '../db/connection/client.ts'
import { keyNameOf } from '../encryption/encryption.ts'
import {
  encryptAgain,
  readOlderValues,
  replaceIfUnchanged,
  storedColumns,
  type RotationCursor,
  type StoredColumn,
} from '../encryption/rotation.ts'
import { forgetOtherSeals, readNeededKeys, refuseUnopened, sealKey } from '../encryption/seals.ts'
import { requireDatabaseUrl, wireEncryption } from '../wiring.ts'

const HELP = `Usage: npm run rotate-encryption -- [--check]

Encrypts again, with the first key of ENCRYPTION_KEYS, everything that another key
has encrypted: secrets of webhook endpoints, client secrets of payments and of
their events, and stored responses. Then it counts what is left, by key: a key
that is not listed may be removed.

The service may run meanwhile. The command can be interrupted and run again. It
connects to DATABASE_URL, which must be the owner of the database: the role of the
service may not change events.

--check  Only counts, and changes nothing.

Exit code: 0 nothing is left, 1 something is left, 2 the command failed.
`

const SOMETHING_LEFT = 1
const FAILED = 2

/** Locks this many rows for some milliseconds. */
const BATCH_ROWS = 500

class UsageError extends Error {
  override name = 'UsageError'
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`rotate-encryption: ${reasonOf(error)}\n`)
  process.exitCode = FAILED
}

async function main(args: readonly string[]): Promise<number> {
  const { help, check } = readArguments(args)
  if (help) {
    process.stdout.write(HELP)
    return 0
  }
  const config = readConfig()
  const keys = wireEncryption(config)
  const [{ name: first }] = keys
  const store = openStore({
    url: requireDatabaseUrl(config),
    applicationName: 'atomic-payments rotate-encryption',
    poolSize: 1,
    timeoutMs: config.STORE_TIMEOUT_MS,
  })
  try {
    const signal = untilInterrupted()
    const needed = await readNeededKeys(store.sql, keys)
    // Values of a missing key are counted. Those of another key of the same name cannot be told apart.
    refuseUnopened(needed.filter(({ state }) => state === 'differs'))
    if (check) return await report(store.sql, first, signal)
    await sealKey(store.sql, keys)
    await rotate(store.sql, signal)
    const exitCode = await report(store.sql, first, signal)
    if (exitCode !== SOMETHING_LEFT) await forgetOtherSeals(store.sql, first)
    return exitCode
  } finally {
    await store.close()
  }
}

/** Changes what is not encrypted with the first key. */
async function rotate(sql: Sql, signal: AbortSignal): Promise<void> {
  for (const column of storedColumns) {
    let changed = 0
    for await (const older of walk(sql, column, 'encrypting', signal)) {
      changed += await replaceIfUnchanged(sql, column, encryptAgain(column, older))
    }
    process.stdout.write(`${column.name}: changed ${changed}.\n`)
  }
}

/** Prints the keys that stored values still need. */
async function report(sql: Sql, first: string, signal: AbortSignal): Promise<number> {
  const counts = new Map<string, number>()
  for (const column of storedColumns) {
    for await (const older of walk(sql, column, 'counting', signal)) {
      for (const name of older.map(({ stored }) => keyNameOf(stored))) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    }
  }
  if (counts.size === 0) {
    process.stdout.write(`Everything is encrypted with the key ${first}. No other key is needed.\n`)
    return 0
  }
  const left = [...counts].map(([name, count]) => `  with the key ${name}: ${count}\n`)
  process.stdout.write(`Not everything is encrypted with the key ${first}:\n${left.join('')}`)
  return SOMETHING_LEFT
}

/**
 * Visits each row of the table once, and returns the values of older keys.
 *
 * @throws the reason of the signal, between two batches.
 */
async function* walk(sql: Sql, column: StoredColumn, doing: string, signal: AbortSignal) {
  const progress = showProgress(`${doing} ${column.name}`)
  try {
    let after: RotationCursor | undefined
    do {
      signal.throwIfAborted()
      const batch = await readOlderValues(sql, column, { limit: BATCH_ROWS, after })
      yield batch.older
      progress.add(batch.lookedAt)
      after = batch.next
    } while (after !== undefined)
  } finally {
    progress.stop()
  }
}

/** On a terminal, the number of rows so far; elsewhere a line for each 100,000. */
function showProgress(doing: string): { add(rows: number): void; stop(): void } {
  let seen = 0
  if (!process.stderr.isTTY) {
    const add = (rows: number) => {
      const before = Math.floor(seen / 100_000)
      seen += rows
      if (Math.floor(seen / 100_000) > before) process.stderr.write(`${doing}: ${seen} rows\n`)
    }
    return { add, stop: () => {} }
  }
  const bar = new SingleBar({ format: `${doing}: {value} rows`, clearOnComplete: true })
  bar.start(0, 0)
  return { add: (rows) => bar.increment(rows), stop: () => bar.stop() }
}

function readArguments(args: readonly string[]): { help: boolean; check: boolean } {
  const options = {
    check: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const
  try {
    const { help = false, check = false } = parseArgs({ args: [...args], options }).values
    return { help, check }
  } catch (error) {
    throw new UsageError(reasonOf(error))
  }
}

function untilInterrupted(): AbortSignal {
  const interrupted = new AbortController()
  const interrupt = () => {
    process.stderr.write('rotate-encryption: stops after this batch\n')
    interrupted.abort(new Error('interrupted; run it again to go on'))
  }
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  return interrupted.signal
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`
  if (error.message !== '') return error.message
  return 'code' in error ? String(error.code) : error.name
}
