// One API or worker process under test, behind proxies of its own. It stands by until it is needed, so that a
// successor works a moment after its predecessor was killed.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants, getPriority, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../dev/ports.ts'
import type { Role } from './points.ts'
import { programIn } from './programs.ts'
import { ProviderProxy } from './provider-proxy.ts'
import { StoreProxy } from './store-proxy.ts'
import type { Watch } from './watch.ts'

/** Where the product is. */
export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** So much is new that none of them lives long enough to need any of it collected. */
const SHORT_LIVED = ['--min-semi-space-size=32', '--max-semi-space-size=64']

/** A machine with other work to do takes seconds to load a process. */
const START_LIMIT_MS = 60_000

export interface ServiceOptions {
  readonly role: Role
  /** Where it stands by, as a program that has its name. */
  readonly programs: string
  readonly databaseUrl: string
  readonly providerUrl: string
  readonly settings: Readonly<Record<string, string>>
  /** Where what was compiled is kept for the next process. */
  readonly cacheFolder: string
  readonly watch: Watch
  /** Whether it leaves the processors to those that do not. */
  readonly yields?: boolean
}

export class ServiceProcess {
  readonly role: Role
  readonly store: StoreProxy
  readonly provider: ProviderProxy
  /** Where an API serves. */
  readonly port: number
  /** Everything that it has written so far. */
  readonly lines: string[] = []
  readonly #child: ChildProcess
  /** Resolves when it has loaded what it needs. */
  readonly standing: Promise<void>
  readonly ended: Promise<void>
  #isOver = false
  #isReady = false
  readonly #sent = new Set<NodeJS.Signals>()
  #unasked: string | undefined

  private constructor(
    { role, programs, databaseUrl, settings, cacheFolder, yields }: ServiceOptions,
    proxies: { readonly store: StoreProxy; readonly provider: ProviderProxy },
    port: number,
  ) {
    this.role = role
    this.port = port
    this.store = proxies.store
    this.provider = proxies.provider
    const url = new URL(databaseUrl)
    url.port = String(this.store.port)
    const { PATH, HOME, TMPDIR } = process.env
    this.#child = spawn(process.execPath, [...SHORT_LIVED, programIn(programs, role)], {
      cwd: REPOSITORY,
      env: {
        ...settings,
        PATH,
        HOME,
        TMPDIR,
        NODE_COMPILE_CACHE: cacheFolder,
        DATABASE_URL: url.href,
        STRIPE_API_BASE: this.provider.url,
        PORT: String(port),
      },
      // In a process group of its own: Ctrl-C does not reach it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    if (yields === true) giveWay(this.#child)
    this.ended = this.#untilEnd()
    this.standing = this.#waitFor('standing by')
    // Whoever does not wait for it is not to be told of it.
    this.standing.catch(() => {})
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => this.lines.push(line))
    }
  }

  static async standBy(options: ServiceOptions): Promise<ServiceProcess> {
    const { role, watch, databaseUrl, providerUrl } = options
    const store = await StoreProxy.open(role, Number(new URL(databaseUrl).port), watch)
    const provider = await ProviderProxy.open(role, providerUrl, watch)
    return new ServiceProcess(options, { store, provider }, await findFreePort())
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Has it work, once it stands by, however long it has stood.
   *
   * @throws Error with its last words when it ends before it does, or takes too long.
   */
  async start(): Promise<void> {
    await this.standing
    const ready = this.#waitFor('ready')
    // Whether it was still there to be told, its end tells.
    this.#child.send({ type: 'go' }, () => {})
    await ready
    this.#isReady = true
  }

  signal(signal: NodeJS.Signals): void {
    this.#sent.add(signal)
    this.#child.kill(signal)
  }

  /** Kills it, whatever it does, and closes its proxies. */
  async remove(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended
    await Promise.all([this.store.close(), this.provider.close()])
  }

  /** How it has ended although nobody had it end so, told once; undefined when it has not. */
  takeUnasked(): string | undefined {
    const unasked = this.#unasked
    this.#unasked = undefined
    return unasked
  }

  async #untilEnd(): Promise<void> {
    const [code, signal] = (await once(this.#child, 'exit')) as [number | null, string | null]
    this.#isOver = true
    this.#judgeEnd(code, signal)
  }

  /** One that never worked does not count: while the store is away none can start, and the next one is tried. */
  #judgeEnd(code: number | null, signal: string | null): void {
    if (!this.#isReady || this.#sent.has('SIGKILL')) return
    if (this.#sent.has('SIGTERM') && code === 0) return
    const how = signal ?? `exit code ${code}`
    const told = this.#sent.has('SIGTERM') ? 'when it was told to stop' : 'by itself'
    this.#unasked = `the ${this.role} ended ${told}, with ${how}. Its last words:\n${this.#lastWords()}`
  }

  #waitFor(type: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        clearTimeout(limit)
        reject(new Error(`the ${this.role} ${why}. Its last words:\n${this.#lastWords()}`))
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

  #lastWords(): string {
    return this.lines.slice(-20).join('\n')
  }
}

const NICER_BY = constants.priority.PRIORITY_BELOW_NORMAL
const NICEST = constants.priority.PRIORITY_LOW

function giveWay({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, Math.min(getPriority() + NICER_BY, NICEST))
}
