// Finds the service and the operator's key. The key never comes from an argument, which every user
// of the machine could read in the list of processes.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '../client/index.ts'
import type { paths } from '../client/operators-schema.ts'
import type { OperatorClient, Options } from './command.ts'
import { UsageError } from './errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Connection {
  readonly client: OperatorClient
  readonly url: string
}

/** Longer than the API waits for a verdict. */
const TRY_TIMEOUT_MS = 60_000

export async function connect(options: Options, environment: Environment): Promise<Connection> {
  const named = options.url ?? (environment['ATOMIC_URL'] || (await findStackUrl(environment)))
  const url = readUrl(named, environment)
  const apiKey = await readKey(options['key-file'], url, environment)
  // A person at a terminal repeats a command; tail repeats its look itself.
  const retry = { maxFailures: 1, tryTimeoutMs: TRY_TIMEOUT_MS, deadlineMs: TRY_TIMEOUT_MS }
  const client = createClient<paths>({ baseUrl: url.href.replace(/\/$/, ''), apiKey, retry })
  return { client, url: url.href }
}

function readUrl(text: string | undefined, { PORT }: Environment): URL {
  const url = URL.parse(text ?? `http://127.0.0.1:${PORT || '3000'}`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw new UsageError('the URL of the service must be like https://payments.example.com')
  }
  return url
}

/** The URL of the `npm start` that runs with the data folder, as src/start/stack-settings.ts stores it. */
async function findStackUrl({ DATA_DIR }: Environment): Promise<string | undefined> {
  try {
    const text = await readFile(join(DATA_DIR || '.data', 'running-stack.json'), 'utf8')
    const { pid, settings } = JSON.parse(text) as { pid: number; settings: { ATOMIC_URL: string } }
    process.kill(pid, 0)
    return settings.ATOMIC_URL
  } catch {
    return undefined
  }
}

async function readKey(
  file: string | undefined,
  url: URL,
  environment: Environment,
): Promise<string> {
  const { ATOMIC_ADMIN_KEY } = environment
  if (file !== undefined) return checkKey(await readKeyFile(file), 'the file of --key-file')
  if (ATOMIC_ADMIN_KEY) return checkKey(ATOMIC_ADMIN_KEY, 'ATOMIC_ADMIN_KEY')
  const generated = await readGeneratedKey(url, environment)
  if (generated === undefined) {
    throw new UsageError(
      "no operator's key: set ATOMIC_ADMIN_KEY, or name a file that has it with --key-file",
    )
  }
  return generated
}

async function readKeyFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as { code?: string }
    throw new UsageError(`the file of --key-file cannot be read (${code ?? 'no reason given'})`)
  }
}

/** The key that `npm start` stored, which is for the service of this machine alone. */
async function readGeneratedKey(
  { hostname }: URL,
  { DATA_DIR, ADMIN_API_KEY }: Environment,
): Promise<string | undefined> {
  if (ADMIN_API_KEY || !['127.0.0.1', 'localhost', '[::1]'].includes(hostname)) return undefined
  const file = join(DATA_DIR || '.data', 'admin-api-key')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : checkKey(text, 'the key in DATA_DIR')
}

/** The error of a header that fetch refuses would have the key. */
function checkKey(text: string, origin: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError(`${origin} has no operator's key`)
  return key
}
