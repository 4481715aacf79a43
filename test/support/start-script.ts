// Runs a script of the repository as a real process with a clean environment and reads its output
// line by line.
import { spawn, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { TENANTS_SETTING } from '../../src/db/connection/transaction.ts'
import { ENCRYPTION_KEYS } from './encryption.ts'
import { compileCache, programOf } from './programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The sessions of the tests' owner see all tenants, those of a process see none by default. */
function seesNoTenant(databaseUrl: string | undefined): Record<string, string> {
  const { host, username } = new URL(process.env['TEST_POSTGRES_OWNER_URL'] ?? '')
  if (databaseUrl === undefined || !URL.canParse(databaseUrl)) return {}
  const url = new URL(databaseUrl)
  if (url.host !== host || url.username !== username) return {}
  url.searchParams.set('options', `-c${TENANTS_SETTING}={}`)
  return { DATABASE_URL: url.href }
}

/** Long, because all cores may be busy. A test that passes never waits for it. */
const DEFAULT_TIMEOUT_MS = 120_000

interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ServiceProcess {
  readonly pid: number
  /** The lines of stdout and stderr so far, in order of arrival. */
  readonly lines: readonly string[]
  readonly exited: Promise<ProcessExit>
  /** Returns the first line that the predicate accepts, also a line from before this call. */
  waitForLine(predicate: (line: string) => boolean, timeoutMs?: number): Promise<string>
  /** Resolves when the process has sent `{ type: 'ready' }`. */
  waitUntilReady(timeoutMs?: number): Promise<void>
  kill(signal: NodeJS.Signals): void
}

export interface ScriptOptions {
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
  /** The root of another version of this repository. */
  readonly root?: string
  /** Whether the script may run as its bundle. By default it may. */
  readonly isBundled?: boolean
}

/**
 * Runs `node <script> ...args`, or the bundle of the script. The script is a path from the root of
 * the repository. The IPC channel lets the service's processes end when jest is killed.
 */
export function startScript(
  script: string,
  options: ScriptOptions = {},
): ServiceProcess & { readonly child: ChildProcess } {
  // The developer's other variables (DATABASE_URL, STRIPE_SECRET_KEY, ...) must not affect tests.
  const { PATH, HOME, TMPDIR } = process.env
  const { root, args = [], isBundled = root === undefined } = options
  const program = isBundled ? programOf(script) : script
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root ?? ROOT,
    env: {
      PATH,
      HOME,
      TMPDIR,
      // Another version lies in a new folder each time, and Node finds the code by its path.
      ...(root === undefined ? { NODE_COMPILE_CACHE: compileCache() } : {}),
      // Many processes run at once: 0 gives each a different port for its metrics.
      METRICS_PORT: '0',
      TEST_CONSTANTS: 'true',
      // The cluster of the tests has fsync off.
      DATABASE_MAY_LOSE_COMMITS: 'true',
      ENCRYPTION_KEYS,
      ...options.env,
      ...seesNoTenant(options.env?.['DATABASE_URL']),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const exited = once(child, 'close').then(([code, signal]): ProcessExit => ({ code, signal }))
  const events = collectEvents(child)
  return {
    child,
    pid: child.pid ?? 0,
    lines: events.lines,
    exited,
    waitForLine: (predicate, timeoutMs = DEFAULT_TIMEOUT_MS) =>
      events.waitFor(`a line of ${script}`, timeoutMs, () => events.lines.find(predicate)),
    async waitUntilReady(timeoutMs = DEFAULT_TIMEOUT_MS) {
      await events.waitFor(`${script} to be ready`, timeoutMs, () => events.messages.find(isReady))
    },
    kill: (signal) => void child.kill(signal),
  }
}

function isReady(message: unknown): boolean {
  return (message as { type?: unknown } | null)?.type === 'ready'
}

/**
 * Collects the lines and messages of a child. `waitFor` waits until the caller finds one among
 * them.
 */
function collectEvents(child: ChildProcess) {
  const lines: string[] = []
  const messages: unknown[] = []
  let ended = false
  const news = new EventEmitter().setMaxListeners(0)
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      news.emit('news')
    })
  }
  child.on('message', (message) => {
    messages.push(message)
    news.emit('news')
  })
  child.once('close', () => {
    ended = true
    news.emit('news')
  })

  async function waitFor<T>(
    what: string,
    timeoutMs: number,
    find: () => T | undefined,
  ): Promise<T> {
    const limit = AbortSignal.timeout(timeoutMs)
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (ended || limit.aborted) {
        const why = ended ? 'it ended' : `nothing in ${timeoutMs} ms`
        throw new Error(`waited for ${what}: ${why}. It said:\n${lines.slice(-40).join('\n')}`)
      }
      await once(news, 'news', { signal: limit }).catch(() => {})
    }
  }
  return { lines, messages, waitFor }
}
