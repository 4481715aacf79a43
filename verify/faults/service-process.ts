// One API or worker process under test, behind proxies of its own. It loads in advance and stands
// by, so that a killed process has a successor at once.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, getPriority, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { portIn } from '../listening-process.ts'
import type { Role } from './points.ts'
import { programIn } from './programs.ts'
import { openProviderProxy, type ProviderProxy, type ProviderUrls } from './provider-proxy.ts'
import { openStoreProxy, type StoreProxy } from './store-proxy.ts'
import type { Watch } from './watch.ts'
import { secondProvider } from './extras.ts'
import type { ExtraProxy, ExtraServer } from './lane-parts.ts'

/** The root of the product. */
export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** A young generation so large that these short-lived processes need no garbage collection. */
const SHORT_LIVED = ['--min-semi-space-size=32', '--max-semi-space-size=64']

/** On a busy machine a process takes seconds to load. */
const START_LIMIT_MS = 60_000

interface ServiceOptions {
  readonly role: Role
  /** The folder with the bundled programs, one of which has the name of the role. */
  readonly programs: string
  readonly databaseUrl: string
  readonly providerUrls: ProviderUrls
  /** The host name of the provider for the process; by default its address. */
  readonly providerName?: string | undefined
  /** The server of an extra that an API process has. */
  readonly extraServer?: ExtraServer | undefined
  readonly settings: Readonly<Record<string, string>>
  /** Keeps compiled code for the next process. */
  readonly cacheFolder: string
  readonly watch: Watch
  /** Whether it runs at a lower priority. */
  readonly lowPriority?: boolean
}

export class ServiceProcess {
  readonly role: Role
  readonly store: StoreProxy
  readonly provider: ProviderProxy
  readonly extra: ExtraProxy | undefined
  /** All log lines so far. */
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #listening = Promise.withResolvers<number>()
  #port: number | undefined
  /** Resolves when the process has loaded and stands by. */
  readonly loaded: Promise<void>
  readonly ended: Promise<void>
  #hasEnded = false
  #isReady = false
  readonly #sent = new Set<NodeJS.Signals>()
  #unexpectedExit: string | undefined

  private constructor(
    options: ServiceOptions,
    proxies: Pick<ServiceProcess, 'store' | 'provider' | 'extra'>,
  ) {
    const { role, programs, databaseUrl, settings, cacheFolder, lowPriority } = options
    this.role = role
    this.store = proxies.store
    this.provider = proxies.provider
    this.extra = proxies.extra
    const url = new URL(databaseUrl)
    url.port = String(this.store.port)
    const providerUrl = new URL(this.provider.url)
    providerUrl.hostname = options.providerName ?? providerUrl.hostname
    const { PATH, HOME, TMPDIR } = process.env
    this.#child = spawn(process.execPath, [...SHORT_LIVED, programIn(programs, role)], {
      cwd: REPOSITORY,
      env: {
        TEST_CONSTANTS: 'true',
        // Its cluster has fsync off: nothing of it outlives the run.
        DATABASE_MAY_LOSE_COMMITS: 'true',
        ...settings,
        PATH,
        HOME,
        TMPDIR,
        NODE_COMPILE_CACHE: cacheFolder,
        DATABASE_URL: url.href,
        STRIPE_API_BASE: providerUrl.origin,
        ...(secondProvider && { [secondProvider.apiBase]: this.provider.url }),
        ...this.extra?.settings,
        // A port that was found free could be taken while the process stands by.
        PORT: '0',
      },
      // In its own process group, so that Ctrl-C does not reach it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    if (lowPriority === true) lowerPriority(this.#child)
    this.ended = this.#untilEnd()
    this.loaded = this.#waitFor('standing by')
    // A caller that does not wait for it must not get an unhandled rejection.
    this.loaded.catch(() => {})
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line)
        const port = portIn(line)
        if (port !== undefined) this.#listening.resolve(port)
      })
    }
  }

  static async standBy(options: ServiceOptions): Promise<ServiceProcess> {
    const { role, watch, databaseUrl, providerUrls, extraServer } = options
    const store = await openStoreProxy(role, Number(new URL(databaseUrl).port), watch)
    const provider = await openProviderProxy(role, providerUrls, watch)
    const extra = role === 'api' ? await extraServer?.openProxy(watch) : undefined
    return new ServiceProcess(options, { store, provider, extra })
  }

  /** The port of an API that works. */
  get port(): number | undefined {
    return this.#port
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Makes the process work, as soon as it stands by. It may have stood by for any time.
   *
   * @throws Error with its last log lines when it ends before that, or takes too long.
   */
  async start(): Promise<void> {
    await this.loaded
    const ready = this.#waitFor('ready')
    // If the process has ended in the meantime, `ready` is rejected.
    this.#child.send({ type: 'go' }, () => {})
    await ready
    if (this.role === 'api') {
      this.#port = (await Promise.race([this.#listening.promise, this.ended])) ?? undefined
    }
    this.#isReady = true
  }

  signal(signal: NodeJS.Signals): void {
    this.#sent.add(signal)
    this.#child.kill(signal)
  }

  /** Kills the process and closes its proxies. */
  async remove(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended
    this.store.close()
    this.provider.close()
    this.extra?.close()
  }

  /** How the process ended unexpectedly, returned once; undefined when it has not. */
  takeUnexpectedExit(): string | undefined {
    const exit = this.#unexpectedExit
    this.#unexpectedExit = undefined
    return exit
  }

  async #untilEnd(): Promise<void> {
    const [code, signal] = (await once(this.#child, 'exit')) as [number | null, string | null]
    this.#hasEnded = true
    this.#checkEnd(code, signal)
  }

  /** A process that never worked does not count: while the store is away none can start. */
  #checkEnd(code: number | null, signal: string | null): void {
    if (!this.#isReady || this.#sent.has('SIGKILL')) return
    if (this.#sent.has('SIGTERM') && code === 0) return
    const how = signal ?? `exit code ${code}`
    const when = this.#sent.has('SIGTERM') ? 'after SIGTERM' : 'by itself'
    this.#unexpectedExit = `the ${this.role} ended ${when}, with ${how}. Its last log lines:\n${this.#lastLines()}`
  }

  #waitFor(type: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        clearTimeout(limit)
        reject(new Error(`the ${this.role} ${why}. Its last log lines:\n${this.#lastLines()}`))
      }
      const limit = setTimeout(() => fail(`is not ${type} in time`), START_LIMIT_MS)
      this.#child.on('message', (message: { type?: unknown } | null) => {
        if (message?.type !== type) return
        clearTimeout(limit)
        resolve()
      })
      void this.ended.then(() => fail(`ended before it was ${type}`))
    })
  }

  #lastLines(): string {
    return this.lines.slice(-20).join('\n')
  }
}

const NICENESS_INCREASE = constants.priority.PRIORITY_BELOW_NORMAL
const NICENESS_MAX = constants.priority.PRIORITY_LOW

function lowerPriority({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, Math.min(getPriority() + NICENESS_INCREASE, NICENESS_MAX))
}
