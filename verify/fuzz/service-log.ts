// Reads the log lines of the processes. Counts provider calls, and collects forbidden lines:
// secrets, errors and fields that are not on the log's allow list. Keeps only the last lines.
import { EventEmitter, once } from 'node:events'
import type { Secrets } from './secrets.ts'

export type Role = 'provider' | 'worker' | 'api'

/** Pino's level `error`. */
const ERROR = 50

const KEPT_LINES = 40

/** So many are port; the rest will be of the same kind. */
const VIOLATIONS_MAX = 20

interface Line {
  readonly level?: number
  readonly msg?: string
  readonly method?: string
  readonly path?: string
  readonly port?: number
  readonly unlisted?: readonly string[]
}

export class ServiceLog {
  /** The forbidden log lines found. */
  readonly violations: string[] = []
  readonly #last: string[] = []
  #secrets: Secrets | undefined
  #lines = 0
  #providerCalls = 0
  readonly #ports = new Map<Role, number>()
  readonly #listening = new EventEmitter()

  get lines(): number {
    return this.#lines
  }

  /** Number of requests to the provider's API, without its control API. */
  get providerCalls(): number {
    return this.#providerCalls
  }

  /** The last log lines, to explain the failure of a process. */
  get lastLines(): string {
    return this.#last.join('\n')
  }

  /** The port of a process, once it has logged it. */
  async portOf(role: Role): Promise<number> {
    const knownPort = this.#ports.get(role)
    if (knownPort !== undefined) return knownPort
    const [port] = (await once(this.#listening, role)) as [number]
    return port
  }

  /** Sets the secrets to look for in later lines. */
  setSecrets(secrets: Secrets): void {
    this.#secrets = secrets
  }

  readonly add = (role: Role, text: string): void => {
    this.#lines += 1
    this.#last.push(`${role}: ${text}`)
    if (this.#last.length > KEPT_LINES) this.#last.shift()
    for (const secret of this.#secrets?.findIn(text) ?? []) {
      this.#addViolation(`${role} logged ${secret}`)
    }
    const line = parseLine(text)
    if (line === undefined) return
    if (line.port !== undefined && !this.#ports.has(role)) {
      this.#ports.set(role, line.port)
      this.#listening.emit(role, line.port)
    }
    if (role === 'provider') {
      const { msg, path = '' } = line
      if (msg === 'request' && !path.startsWith('/_control')) this.#providerCalls += 1
      return
    }
    if ((line.level ?? 0) >= ERROR) this.#addViolation(`${role} logged an error: ${text}`)
    if (line.unlisted !== undefined) {
      this.#addViolation(`${role} logged fields that are not allowed: ${line.unlisted.join(', ')}`)
    }
  }

  #addViolation(what: string): void {
    if (this.violations.length < VIOLATIONS_MAX && !this.violations.includes(what)) {
      this.violations.push(what)
    }
  }
}

function parseLine(text: string): Line | undefined {
  try {
    return text.startsWith('{') ? (JSON.parse(text) as Line) : undefined
  } catch {
    // Node's own messages are not JSON.
    return undefined
  }
}
